"""A small piece of code in each language that the parser knows, with what has to be found in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """``defined`` is ``owner.name`` where there is an owner, with its line; ``used`` some of the names, and where."""

    name: str
    text: str
    defined: dict[str, int]
    used: set[tuple[str, str]]
    imported: set[str]


SAMPLES = {
    "python": Sample(
        "shop/cart.py",
        '''from .prices import PriceList, taxed as with_tax
import shop.stock

LIMIT = 20

@registered
class Cart(Basket):
    """Holds items."""

    async def add(
        self, item: Item, *, count: int = 1
    ) -> Total:
        if count > LIMIT:
            raise TooMany(item)
        return self.prices.total_of(item, key=by_name)

def outer():
    def inner():
        return helper()
    return inner
''',
        {"LIMIT": 4, "Cart": 7, "Cart.add": 10, "outer": 17, "outer.inner": 18},
        {
            *(("", "registered"), ("Cart", "Basket"), ("add", "Item"), ("add", "Total"), ("add", "TooMany")),
            *(("add", "total_of"), ("add", "by_name"), ("inner", "helper"), ("", "PriceList")),
        },
        {"prices", "PriceList", "taxed", "stock"},
    ),
    "javascript": Sample(
        "lib/cart.js",
        """import { PriceList } from './prices.js'
const stock = require('./stock')

const LIMIT = 20

export class Cart extends Basket {
  add (item, count = 1) {
    return this.prices.totalOf(item, byName)
  }
}

function outer () {
  return helper()
}

const later = async (x) => run(x)

module.exports.make = function () { return new Cart() }
module.exports = function override () {}
""",
        {"stock": 2, "LIMIT": 4, "Cart": 6, "Cart.add": 7, "outer": 12, "later": 16, "make": 18, "override": 19},
        {
            *(("Cart", "Basket"), ("add", "totalOf"), ("add", "byName"), ("outer", "helper"), ("later", "run")),
            *(("make", "Cart"), ("", "PriceList")),
        },
        {"prices", "stock"},
    ),
    "typescript": Sample(
        "src/cart.ts",
        """import type { PriceList } from '@shop/prices'

export interface Item extends Named { price(): Money }
export type Total = Map<string, Money>
export enum Size { Small, Large }

export abstract class Cart<T> extends Basket implements Container {
  private prices: PriceList
  constructor(@inject(Prices) prices: PriceList) { super() }
  abstract total(): Total
  add(item: Item): Total { return sum(this.prices.of(item)) }
}

export const make = (size: Size): Cart<Item> => new BigCart(size)
export function outer<T>(x: T): void { helper(x) }
namespace Inner { export const a = 1 }
""",
        {
            "Item": 3,
            "Item.price": 3,
            "Total": 4,
            "Size": 5,
            "Cart": 7,
            "Cart.constructor": 9,
            "Cart.total": 10,
            "Cart.add": 11,
            "make": 14,
            "outer": 15,
            "Inner": 16,
        },
        {
            *(("Item", "Named"), ("price", "Money"), ("Cart", "Basket"), ("Cart", "Container"), ("add", "sum")),
            *(("constructor", "PriceList"), ("make", "BigCart"), ("make", "Size"), ("outer", "helper")),
        },
        {"prices"},
    ),
    "tsx": Sample(
        "src/view.tsx",
        """import React from 'react'
export function View({ items }: Props) {
  const shown = usePrices(items)
  return <List all={shown}><Row /></List>
}
export const Empty: FC = () => <View items={none} />
""",
        {"View": 2, "Empty": 6},
        {
            ("View", "Props"),
            ("View", "usePrices"),
            ("View", "List"),
            ("View", "Row"),
            ("Empty", "View"),
            ("Empty", "FC"),
        },
        {"react"},
    ),
    "go": Sample(
        "shop/cart.go",
        """package shop

import (
	"fmt"
	prices "example.org/shop/prices/v2"
)

const Limit = 20

type Cart struct {
	prices *prices.List
}

type Container interface {
	Add(item Item) error
}

func (c *Cart) Add(item Item) error {
	return fmt.Errorf("%v", c.prices.TotalOf(item, Limit))
}

func NewCart[T any](l *prices.List) *Cart { return &Cart{prices: load(l)} }
""",
        {"Limit": 8, "Cart": 10, "Container": 14, "Container.Add": 15, "Add": 18, "NewCart": 22},
        {
            ("Add", "Item"),
            ("Add", "TotalOf"),
            ("Add", "Limit"),
            ("NewCart", "Cart"),
            ("NewCart", "load"),
            ("Cart", "List"),
        },
        {"fmt", "prices"},
    ),
    "rust": Sample(
        "src/cart.rs",
        """use crate::prices::{PriceList, Taxed};
mod stock;

pub const LIMIT: usize = 20;

#[derive(Debug)]
pub struct Cart<T> { prices: PriceList<T> }

pub enum Size { Small, Large }

pub trait Container { fn add(&mut self, item: Item) -> Total; }

impl<T> Container for Cart<T> {
    fn add(&mut self, item: Item) -> Total {
        self.prices.total_of(item, LIMIT)
    }
}

macro_rules! cart { () => { Cart::new() } }

pub fn outer() -> Cart<u8> { helper::build(cart!()) }
""",
        {
            "LIMIT": 4,
            "Cart": 7,
            "Size": 9,
            "Container": 11,
            "Container.add": 11,
            "Cart#2": 13,
            "Cart.add": 14,
            "cart": 19,
            "outer": 21,
        },
        {
            ("add", "total_of"),
            ("add", "Total"),
            ("add", "LIMIT"),
            ("outer", "build"),
            ("outer", "cart"),
            ("Cart", "PriceList"),
        },
        {"prices", "stock"},
    ),
    "java": Sample(
        "shop/Cart.java",
        """package shop;
import org.example.prices.PriceList;

@Entity
public class Cart<T> extends Basket implements Container {
    private final PriceList prices = Prices.load();
    public Cart(PriceList prices) { this.prices = prices; }
    @Override
    public Total add(Item item) throws TooMany {
        return prices.totalOf(item, LIMIT).map(Total::new);
    }
    enum Size { SMALL, LARGE }
    record Point(int x, int y) {}
}
interface Container { Total add(Item item); }
""",
        {
            "Cart": 5,
            "Cart.prices": 6,
            "Cart.Cart": 7,
            "Cart.add": 9,
            "Cart.Size": 12,
            "Size.SMALL": 12,
            "Size.LARGE": 12,
            "Cart.Point": 13,
            "Container": 15,
            "Container.add": 15,
        },
        {
            *(("Cart", "Basket"), ("Cart", "Container"), ("add", "totalOf"), ("add", "Total"), ("add", "TooMany")),
            *(("prices", "load"), ("Cart", "Entity"), ("add", "LIMIT")),
        },
        {"PriceList"},
    ),
    "c": Sample(
        "src/cart.c",
        """#include <stdio.h>
#include "prices.h"
#define LIMIT 20
#define TAXED(x) taxed_price(x)

typedef struct cart { price_list *prices; } cart_t;
enum size { SIZE_SMALL, SIZE_LARGE };
static const char *names[] = { "a", "b" };

static int
add(cart_t *cart, struct item *item)
{
    return total_of(cart->prices, item, LIMIT);
}

char **list_names(void) { return names; }
""",
        {
            "LIMIT": 3,
            "TAXED": 4,
            "cart_t": 6,
            "cart_t.cart": 6,
            "size": 7,
            "size.SIZE_SMALL": 7,
            "size.SIZE_LARGE": 7,
            "names": 8,
            "add": 11,
            "list_names": 16,
        },
        {("add", "cart_t"), ("add", "total_of"), ("add", "LIMIT"), ("list_names", "names"), ("TAXED", "taxed_price")},
        {"stdio", "prices"},
    ),
    "cpp": Sample(
        "src/cart.hpp",
        """#include "prices.hpp"
namespace shop {
template <typename T>
class Cart : public Basket {
public:
    Total add(const Item& item) { return prices.total_of(item); }
    void clear();
private:
    PriceList prices;
};
using Carts = std::vector<Cart<int>>;
}
void shop::Cart::clear() { reset_all(this); }
Total& shop::outer(int x) { return helper::find(x); }
""",
        {
            "shop": 2,
            "shop.Cart": 4,
            "Cart.add": 6,
            "Cart.clear": 7,
            "shop.Carts": 11,
            "clear": 13,
            "outer": 14,
        },
        {("add", "Item"), ("add", "total_of"), ("clear", "reset_all"), ("outer", "find"), ("Cart", "PriceList")},
        {"prices"},
    ),
    "ruby": Sample(
        "lib/cart.rb",
        """require 'json'
require_relative 'prices/list'

module Shop
  LIMIT = 20
  class Cart < Basket
    include Container
    attr_reader :prices
    def add(item, count: 1)
      @prices.total_of(item, helper)
    end
    def self.build
      new(PriceList.load)
    end
  end
end
""",
        {"Shop": 4, "Shop.LIMIT": 5, "Shop.Cart": 6, "Cart.add": 9, "Cart.build": 12},
        {("Cart", "Basket"), ("Cart", "Container"), ("add", "total_of"), ("add", "helper"), ("build", "PriceList")},
        {"json", "list"},
    ),
    "c_sharp": Sample(
        "Shop/Cart.cs",
        """using System.Collections.Generic;
using Shop.Prices;
namespace Shop {
  [Serializable]
  public class Cart<T> : Basket, IContainer<T> {
    private readonly PriceList prices = Prices.Load();
    public int Count { get; set; }
    public Cart(PriceList prices) { this.prices = prices; }
    public async Task<Total> Add(Item item) => await Sum(prices.TotalOf(item, Limit));
  }
  public interface IContainer<T> { Total Add(T item); }
  public enum Size { Small }
  public struct Point {}
  public record Named(string Name);
  public delegate void Changed(Cart<int> cart);
}
""",
        {
            "Cart": 5,
            "Cart.prices": 6,
            "Cart.Count": 7,
            "Cart.Cart": 8,
            "Cart.Add": 9,
            "IContainer": 11,
            "IContainer.Add": 11,
            "Size": 12,
            "Point": 13,
            "Named": 14,
            "Changed": 15,
        },
        {
            *(("Cart", "Basket"), ("Cart", "IContainer"), ("Add", "TotalOf"), ("Add", "Sum"), ("Add", "Item")),
            *(("prices", "Load"), ("Cart", "Serializable"), ("Add", "Limit")),
        },
        {"Generic", "Prices"},
    ),
    "php": Sample(
        "src/Cart.php",
        """<?php
namespace Shop;
use Shop\\Prices\\PriceList;
require_once 'stock.php';

const LIMIT = 20;

final class Cart extends Basket implements Container {
    use Named;
    const SIZE = 3;
    private PriceList $prices;
    public function add(Item $item): Total {
        return $this->prices->totalOf($item, self::SIZE) + Money::none() + helper($item);
    }
}
interface Container { public function add(Item $item): Total; }
trait Named {}
enum Size { case Small; }
function outer() { return new Cart(); }
""",
        {
            "LIMIT": 6,
            "Cart": 8,
            "Cart.SIZE": 10,
            "Cart.prices": 11,
            "Cart.add": 12,
            "Container": 16,
            "Container.add": 16,
            "Named": 17,
            "Size": 18,
            "outer": 19,
        },
        {
            *(("Cart", "Basket"), ("Cart", "Container"), ("Cart", "Named"), ("add", "totalOf"), ("add", "Total")),
            *(("add", "Money"), ("add", "helper"), ("add", "SIZE"), ("outer", "Cart")),
        },
        {"PriceList", "stock"},
    ),
    "bash": Sample(
        "bin/cart.sh",
        """#!/bin/bash
. ./lib/prices.sh
source stock.sh
readonly LIMIT=20
NAME=cart

add_item() {
    local item=$1
    total_of "$item" "$LIMIT"
}

function main {
    trap cleanup EXIT
    add_item "${NAME}"
}
main
""",
        {"LIMIT": 4, "NAME": 5, "add_item": 7, "main": 12},
        {("add_item", "total_of"), ("add_item", "LIMIT"), ("main", "add_item"), ("main", "cleanup"), ("", "main")},
        {"prices", "stock"},
    ),
    "lua": Sample(
        "lib/cart.lua",
        """local prices = require("shop.prices")
local LIMIT = 20
local Cart = {}

function Cart.new(list) return setmetatable({ list = list }, Cart) end
function Cart:add(item) return prices.total_of(item, LIMIT) end
local function outer() return helper(by_name) end
Cart.clear = function(self) reset_all(self) end
return { run = function() outer() end }
""",
        {"prices": 1, "LIMIT": 2, "Cart": 3, "new": 5, "add": 6, "outer": 7, "clear": 8, "run": 9},
        {
            ("add", "total_of"),
            ("add", "LIMIT"),
            ("outer", "helper"),
            ("outer", "by_name"),
            ("run", "outer"),
            ("new", "Cart"),
        },
        {"prices"},
    ),
}
