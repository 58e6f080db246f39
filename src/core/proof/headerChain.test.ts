import fc from "fast-check";
import { expect, test } from "vitest";
import { EASY_RULES, mineHeader, mineHeaders } from "../../../test/fakes/mineHeaders.ts";
import { headerVectors } from "../../../test/vectors/headers/headerVectors.ts";
import { concatBytes, fromHex } from "../util/bytes.ts";
import type { Result } from "../util/result.ts";
import { type BlockHeader, parseHeader, parseHeaders } from "./blockHeader.ts";
import { bitsOfTarget } from "./compactTarget.ts";
import { anchorAt, beats, type Checked, extend, headerAt, isEven, KEPT_HEADERS, rewind, tipOf } from "./headerChain.ts";
import type { HeaderRules } from "./headerRules.ts";

const NOW = { nowSec: 1_800_000_000 };
const DAY_SEC = 86_400;
const BITCOIN: HeaderRules = {
  ...EASY_RULES,
  target: { kind: "period", limitBits: 0x1d00ffff, spanSec: 14 * DAY_SEC, measuredFrom: 0 },
};

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}
const faultOf = (result: Result<unknown, { readonly kind: string }>): string => (result.ok ? "none" : result.error.kind);
const read = (...texts: readonly string[]): readonly BlockHeader[] => must(parseHeaders(fromHex(texts.join("")), EASY_RULES));

const { headers: texts, hashes } = headerVectors.bitcoin;
const [GENESIS, ONE, TWO] = texts.map((t) => must(parseHeader(fromHex(t), EASY_RULES))) as [BlockHeader, BlockHeader, BlockHeader];
const bitcoin = (): Checked => must(anchorAt(GENESIS, 0, BITCOIN, NOW));

const START = mineHeader({});
const start = (rules = EASY_RULES): Checked => must(anchorAt(START, 100, rules, NOW));

test("Bitcoin's first headers are read, linked, have their work and their target", () => {
  const chain = must(extend(bitcoin(), read(...texts.slice(1)), BITCOIN, NOW));
  expect(chain.height).toBe(2);
  expect(chain.headers.map((h) => h.hash)).toEqual(hashes);
  // 2^256 / (0xffff * 2^208 + 1), three times.
  expect(chain.work).toBe(3n * 0x100010001n);
  expect(tipOf(chain).timeSec).toBe(1_231_469_744);
  expect(chain.marks).toEqual([{ height: 0, timeSec: 1_231_006_505 }]);
});

test("of a merge-mined header the proof is not kept, which may be a megabyte", () => {
  const branch = { hashes: [], index: 0 };
  const parentProof = {
    script: new Uint8Array(1_000),
    coinbase: new Uint8Array(32),
    blockBranch: branch,
    chainBranch: branch,
    parent: new Uint8Array(80),
  };
  const chain = must(extend(must(anchorAt({ ...GENESIS, parentProof }, 0, BITCOIN, NOW)), [{ ...ONE, parentProof }], BITCOIN, NOW));
  expect(chain.headers).toEqual([GENESIS, ONE]);
});

test("headers out of order are refused, those handed over together and those that follow a chain", () => {
  const reordered = parseHeaders(fromHex(texts[0] + texts[2]), EASY_RULES);
  expect(reordered).toEqual({
    ok: false,
    error: { kind: "NotLinked", at: 1, hash: TWO.hash, prevHash: ONE.hash },
  });
  expect(extend(bitcoin(), [TWO], BITCOIN, NOW)).toMatchObject({ ok: false, error: { kind: "NotLinked", at: 0 } });
  expect(extend(bitcoin(), [ONE, ONE], BITCOIN, NOW)).toMatchObject({ ok: false, error: { kind: "NotLinked", at: 1 } });
});

test("a header whose hash is above its target is refused", () => {
  const cheap = must(parseHeader(fromHex(`${texts[1].slice(0, -2)}98`), EASY_RULES));
  expect(extend(bitcoin(), [cheap], BITCOIN, NOW)).toMatchObject({ ok: false, error: { kind: "NoWork", at: 0 } });
  expect(faultOf(anchorAt(cheap, 1, BITCOIN, NOW))).toBe("NoWork");
});

test("a header mined at an easier target than the chain's is refused, at the tip and as an anchor", () => {
  const easy = mineHeader({ prevHash: GENESIS.hash, timeSec: GENESIS.timeSec + 600 });
  expect(extend(bitcoin(), [easy], BITCOIN, NOW)).toMatchObject({ ok: false, error: { kind: "WrongTarget", at: 0 } });
  expect(faultOf(anchorAt(easy, 1, BITCOIN, NOW))).toBe("WrongTarget");
  expect(faultOf(anchorAt(easy, 1, EASY_RULES, NOW))).toBe("none");
});

test("a chain without a checkpoint does not begin with a target that a few machines can mine at", () => {
  const rules: HeaderRules = { ...BITCOIN, anchorBits: 0x1800ffff };
  expect(faultOf(anchorAt(ONE, 1, rules, NOW))).toBe("WrongTarget");
  expect(faultOf(anchorAt(ONE, 1, { ...rules, checkpoint: { height: 2, hash: TWO.hash } }, NOW))).toBe("WrongTarget");
  expect(faultOf(anchorAt(ONE, 1, { ...rules, checkpoint: { height: 1, hash: ONE.hash } }, NOW))).toBe("none");
  expect(faultOf(anchorAt(ONE, 1, { ...rules, anchorBits: ONE.bits }, NOW))).toBe("none");
});

test("a header further ahead of our clock than any daemon takes it, by clocks as wrong as they may be, is refused", () => {
  const at = ONE.timeSec - 11_460;
  expect(extend(bitcoin(), [ONE], BITCOIN, { nowSec: at }).ok).toBe(true);
  expect(faultOf(extend(bitcoin(), [ONE], BITCOIN, { nowSec: at - 1 }))).toBe("FromFuture");
});

test("a header not later than the median of the eleven before is refused, and fewer than eleven bind nothing", () => {
  const old = { timeSec: START.timeSec };
  const ten = must(extend(start(), mineHeaders(START, 9), EASY_RULES, NOW));
  expect(
    extend(
      ten,
      mineHeaders(tipOf(ten), 1, () => old),
      EASY_RULES,
      NOW,
    ).ok,
  ).toBe(true);
  const eleven = must(extend(start(), mineHeaders(START, 10), EASY_RULES, NOW));
  const median = START.timeSec + 5 * 60;
  const next = (timeSec: number) =>
    extend(
      eleven,
      mineHeaders(tipOf(eleven), 1, () => ({ timeSec })),
      EASY_RULES,
      NOW,
    );
  expect(faultOf(next(median))).toBe("TooOld");
  expect(next(median + 1).ok).toBe(true);
});

test("where nothing is known of a chain's work, its times before ours bind nothing either", () => {
  const rules: HeaderRules = { ...EASY_RULES, work: { kind: "unchecked", reason: "test" } };
  const eleven = must(extend(start(rules), mineHeaders(START, 10), rules, NOW));
  const old = mineHeaders(tipOf(eleven), 1, () => ({ timeSec: START.timeSec }));
  expect(extend(eleven, old, rules, NOW).ok).toBe(true);
  expect(eleven.work).toBe(11n);
});

test("another block than the checkpoint's is refused at its height, and only there", () => {
  const [first, second] = mineHeaders(START, 2);
  if (!first || !second) throw new Error("two were mined");
  const rules = (height: number, hash: string): HeaderRules => ({ ...EASY_RULES, checkpoint: { height, hash } });
  expect(extend(start(), [first, second], rules(102, second.hash), NOW).ok).toBe(true);
  const other = extend(start(), [first, second], rules(102, first.hash), NOW);
  expect(other).toEqual({ ok: false, error: { kind: "NotCheckpoint", at: 1, hash: second.hash, expected: first.hash } });
  expect(extend(start(), [first], rules(102, first.hash), NOW).ok).toBe(true);
  expect(faultOf(anchorAt(first, 102, rules(102, second.hash), NOW))).toBe("NotCheckpoint");
});

test("a chain is taken back to a kept header, with that header's work", () => {
  const chain = must(extend(bitcoin(), [ONE, TWO], BITCOIN, NOW));
  const back = rewind(chain, 1, BITCOIN);
  expect(back && tipOf(back).hash).toBe(ONE.hash);
  expect(back && must(extend(back, [TWO], BITCOIN, NOW))).toEqual(chain);
  expect([rewind(chain, 3, BITCOIN), rewind(chain, -1, BITCOIN), rewind(chain, 0.5, BITCOIN)]).toEqual([null, null, null]);
  expect([headerAt(chain, 0)?.hash, headerAt(chain, 2)?.hash, headerAt(chain, 3), headerAt(chain, -1)]).toEqual([
    GENESIS.hash,
    TWO.hash,
    null,
    null,
  ]);
});

test("the branch with more work wins, not the longer one", () => {
  const long = must(extend(start(), mineHeaders(START, 20), EASY_RULES, NOW));
  const hard = must(
    extend(
      start(),
      mineHeaders(START, 1, () => ({ bits: 0x1f7fffff })),
      EASY_RULES,
      NOW,
    ),
  );
  expect([beats(hard, long), beats(long, hard), beats(long, long)]).toEqual([true, false, false]);
});

test.each([
  ["all alike", [1_000, 1_000, 1_000], true],
  ["nearly eight times as easy at the end", [7_900, 3_000, 1_000], true],
  ["more than eight times as easy at the end", [8_100, 3_000, 1_000], false],
  ["and hard again after that", [8_100, 1_000, 8_100], false],
  ["cheap, then dear", [1_000, 1_000, 8_100], false],
])("whether no header of a chain is far easier than another: %s", (_, works, expected) => {
  const headers = works.map((work) => ({ ...START, bits: bitsOfTarget((1n << 256n) / BigInt(work)) }));
  expect(isEven({ ...start(), headers }, EASY_RULES)).toBe(expected);
});

test("a chain of any length keeps a bounded number of headers, and its work", () => {
  const mined = mineHeaders(START, KEPT_HEADERS + 20);
  const chain = must(extend(start(), mined, EASY_RULES, NOW));
  expect(chain.headers.length).toBe(KEPT_HEADERS);
  expect(chain.work).toBe(2n * BigInt(KEPT_HEADERS + 21));
  expect(headerAt(chain, chain.height - KEPT_HEADERS + 1)?.hash).toBe(mined[20]?.hash);
  expect(headerAt(chain, chain.height - KEPT_HEADERS)).toBeNull();
  expect(rewind(chain, chain.height - KEPT_HEADERS, EASY_RULES)).toBeNull();
});

test("headers in pieces, at once, or taken back and put on again give the same chain", () => {
  const mined = mineHeaders(START, 40);
  const whole = must(extend(start(), mined, EASY_RULES, NOW));
  fc.assert(
    fc.property(fc.nat(40), fc.nat(40), (a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      const piece = must(extend(must(extend(start(), mined.slice(0, low), EASY_RULES, NOW)), mined.slice(low, high), EASY_RULES, NOW));
      expect(must(extend(piece, mined.slice(high), EASY_RULES, NOW))).toEqual(whole);
      const back = rewind(whole, 100 + low, EASY_RULES);
      expect(back && must(extend(back, mined.slice(low), EASY_RULES, NOW))).toEqual(whole);
    }),
  );
});

test("a byte changed anywhere in a chain of headers is found, unless it is found to be a header as good", () => {
  const mined = mineHeaders(START, 12);
  const raw = concatBytes(...mined.map((h) => h.raw));
  fc.assert(
    fc.property(fc.nat(raw.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = Uint8Array.from(raw);
      changed[at] = (changed[at] ?? 0) ^ flip;
      const headers = parseHeaders(changed, EASY_RULES);
      const chain = headers.ok ? extend(start(), headers.value, EASY_RULES, NOW) : headers;
      // Only in the last header can a change leave the links whole: then it is another block on the same parent.
      expect(chain.ok ? Math.floor(at / 80) : 11).toBe(11);
      if (chain.ok) expect(tipOf(chain.value).hash).not.toBe(mined.at(-1)?.hash);
    }),
  );
});
