package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{5, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestPercentile(t *testing.T) {
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	for _, c := range []struct {
		values  []int
		p, want int
	}{
		{nil, 50, 0},
		{[]int{7}, 1, 7},
		{[]int{7}, 99, 7},
		{[]int{2, 1}, 50, 1},
		{[]int{3, 1, 2}, 50, 2},
		{[]int{3, 1, 2}, 99, 3},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile(%v, %d) = %d, want %d", c.values, c.p, got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the caller's values were sorted")
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ most, visitors int }{{0, 3}, {2, 3}, {10, 3}, {64, 64}} {
		sum := 0
		for i := range c.visitors {
			sum += share(c.most, c.visitors, i)
		}
		if sum != c.most {
			t.Errorf("%d shared among %d gives %d", c.most, c.visitors, sum)
		}
	}
}
