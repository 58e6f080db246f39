import * as real from "../../src/adapters/electrum/answers.ts";
import type { HeaderRules } from "../../src/core/proof/headerRules.ts";
import { remembered } from "./remembered.ts";

export * from "../../src/adapters/electrum/answers.ts";

type Readings = {
  readonly tip: (key: string) => ReturnType<typeof real.parseTip>;
  readonly run: (key: string) => ReturnType<typeof real.parseHeaderRun>;
  readonly one: (key: string) => ReturnType<typeof real.parseOneHeader>;
};

/** What headers are by one coin's rules, each read once however many servers tell it to however many nodes. Keys: a number, a blank, the hex. */
const byRules = new WeakMap<HeaderRules, Readings>();
function readingsOf(rules: HeaderRules): Readings {
  const known = byRules.get(rules);
  if (known) return known;
  const both = <R>(read: (count: number, hex: string) => R): ((key: string) => R) =>
    remembered<R, string>((key) => {
      const at = key.indexOf(" ");
      return read(Number(key.slice(0, at)), key.slice(at + 1));
    });
  const made: Readings = {
    tip: both((height, hex) => real.parseTip({ height, hex }, rules)),
    run: both((asked, hex) => real.parseHeaderRun({ hex }, rules, asked)),
    one: remembered<ReturnType<typeof real.parseOneHeader>, string>((hex) => real.parseOneHeader(hex, rules)),
  };
  byRules.set(rules, made);
  return made;
}

type Fields = { readonly [key: string]: unknown };
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

export const parseTip: typeof real.parseTip = (value, rules) => {
  const { height, hex } = fieldsOf(value);
  return typeof height === "number" && typeof hex === "string" ? readingsOf(rules).tip(`${height} ${hex}`) : real.parseTip(value, rules);
};

export const parseHeaderRun: typeof real.parseHeaderRun = (value, rules, asked) => {
  const { hex } = fieldsOf(value);
  return typeof hex === "string" ? readingsOf(rules).run(`${asked} ${hex}`) : real.parseHeaderRun(value, rules, asked);
};

export const parseOneHeader: typeof real.parseOneHeader = (value, rules) =>
  typeof value === "string" ? readingsOf(rules).one(value) : real.parseOneHeader(value, rules);
