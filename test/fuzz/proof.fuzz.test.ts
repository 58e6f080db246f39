import { expect, test } from "vitest";
import { parseHeader, parseHeaders } from "../../src/core/proof/blockHeader.ts";
import { isEquihashSolution } from "../../src/core/proof/equihash.ts";
import { anchorAt, beats, extend, headerAt, rewind, tipOf } from "../../src/core/proof/headerChain.ts";
import { type HeaderRules, NOTHING_KNOWN, type ProofOfWork, type TargetRule } from "../../src/core/proof/headerRules.ts";
import { checkInclusion, rootOf } from "../../src/core/proof/merkleBranch.ts";
import { commitsTo } from "../../src/core/proof/parentProof.ts";
import { hasWork, workOf } from "../../src/core/proof/proofOfWork.ts";
import { concatBytes, fromHex } from "../../src/core/util/bytes.ts";
import { EASY_BITS, mineHeader, mineHeaders } from "../fakes/mineHeaders.ts";
import { headerVectors } from "../vectors/headers/headerVectors.ts";
import { mutateBytes, mutateText, type Pick, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

/** Longest that one damaged input may hold the thread. */
const SLOW_MS = 500;
const PARAMS = { n: 200, k: 9, person: "ZcashPoW" };

const START = mineHeader({});
const MINED = mineHeaders(START, 20);
const GOOD = concatBytes(...MINED.map((h) => h.raw));
const NOW = { nowSec: START.timeSec + 100_000 };

const WORKS: readonly ProofOfWork[] = [
  { kind: "sha256d" },
  { kind: "scrypt" },
  { kind: "mergedScrypt", chainId: 0x62 },
  { kind: "equihash", params: PARAMS, floorBits: EASY_BITS },
  { kind: "unchecked", reason: "test" },
];
const TARGETS: readonly (TargetRule | null)[] = [
  null,
  { kind: "smooth", limitBits: EASY_BITS, easing: { kind: "step", percent: 150 } },
  { kind: "smooth", limitBits: EASY_BITS, easing: { kind: "time", spacingSec: 600, halfLifeSec: 172_800, sinceSec: 0 } },
  { kind: "period", limitBits: EASY_BITS, spanSec: 1_209_600, measuredFrom: 0 },
];

function anyRules(pick: Pick): HeaderRules {
  const work = WORKS[pick(WORKS.length)] as ProofOfWork;
  const target = TARGETS[pick(TARGETS.length)] as TargetRule | null;
  const checkpoint = pick(3) === 0 ? { height: 100 + pick(25), hash: MINED[pick(20)]?.hash ?? "" } : null;
  const anchorBits = pick(2) === 0 ? null : EASY_BITS;
  return {
    ...NOTHING_KNOWN,
    layouts: ["plain", "auxpow", "progpow", "accumulator", "equihash"],
    work,
    target,
    anchorBits,
    checkpoint,
  };
}

test(`${RUNS} damaged chains of headers are followed or refused (seed ${SEED}), and what is followed is whole`, {
  timeout: 300_000,
}, () => {
  const pick = source(SEED);
  const memory = watchMemory();
  let followed = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const rules = anyRules(pick);
    const headers = parseHeaders(pick(4) === 0 ? GOOD : mutateBytes(GOOD, pick), rules);
    const anchor = anchorAt(START, pick(2) === 0 ? 2_000 + pick(30) : 100, rules, NOW);
    if (!headers.ok || !anchor.ok) continue;
    const chain = extend(anchor.value, headers.value, rules, NOW);
    if (!chain.ok) continue;
    followed++;
    expect(chain.value.height).toBe(anchor.value.height + headers.value.length);
    const links = chain.value.headers.every((h, n) => n === 0 || h.prevHash === chain.value.headers[n - 1]?.hash);
    expect(links && chain.value.headers.every((h) => hasWork(h, rules))).toBe(true);
    expect(chain.value.work).toBe(chain.value.headers.reduce((sum, h) => sum + workOf(h, rules), 0n));
    const height = anchor.value.height - 2 + pick(25);
    const back = rewind(chain.value, height, rules);
    expect(back === null).toBe(headerAt(chain.value, height) === null);
    if (back) expect([tipOf(back), beats(back, chain.value)]).toEqual([headerAt(chain.value, height), false]);
  }
  memory.check();
  expect(followed).toBeGreaterThan(RUNS / 50);
});

test(`damaged Equihash solutions are none, and none is slow to refuse (seed ${SEED})`, { timeout: 300_000 }, () => {
  const pick = source(SEED + 1);
  const good = fromHex(headerVectors.komodo.genesis.header);
  const [input, solution] = [good.slice(0, 140), good.slice(143)];
  expect(isEquihashSolution(input, solution, PARAMS)).toBe(true);
  // A solution is dear to check: a hundred at least, and as many more as the others cost together.
  for (let i = 0; i < Math.max(100, RUNS / 100); i++) {
    const bad = mutateBytes(solution, pick);
    const same = bad.length === solution.length && bad.every((byte, n) => byte === solution[n]);
    const startMs = performance.now();
    expect(isEquihashSolution(input, bad, PARAMS)).toBe(same);
    expect(performance.now() - startMs).toBeLessThan(SLOW_MS);
  }
});

test(`${RUNS} damaged proofs of parent chains commit to the block or do not, never throw (seed ${SEED})`, () => {
  const pick = source(SEED + 3);
  const memory = watchMemory();
  const rules: HeaderRules = {
    ...NOTHING_KNOWN,
    layouts: ["auxpow"],
    work: { kind: "sha256d" },
  };
  let read = 0;
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const good = fromHex(headerVectors.dogecoin.headers[pick(2)] ?? "");
    const header = parseHeader(pick(10) === 0 ? good : mutateBytes(good, pick), rules);
    if (!header.ok || header.value.parentProof === null) continue;
    read++;
    const { raw, parentProof } = header.value;
    // What a header commits to it commits to as its own chain's, and no other's.
    expect(commitsTo(raw, parentProof, 0x61) && commitsTo(raw, parentProof, 0x62)).toBe(false);
  }
  memory.check();
  expect(read).toBeGreaterThan(RUNS / 10);
});

test(`${RUNS} damaged Merkle branches prove nothing, never throw (seed ${SEED})`, () => {
  const pick = source(SEED + 2);
  const memory = watchMemory();
  const txid = "ab".repeat(32);
  const branch = Array.from({ length: 12 }, (_, i) => (i + 16).toString(16).repeat(32));
  const pos = 1_234;
  const root = rootOf(txid, branch, pos);
  if (!root.ok) throw new Error("the whole branch was refused");
  expect(checkInclusion({ txid, strippedBytes: 200, branch, pos }, root.value).ok).toBe(true);
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const part = pick(4);
    const list = part === 1 ? branch.with(pick(12), mutateText(branch[0] ?? "", pick)) : part === 2 ? branch.slice(pick(12) + 1) : branch;
    const place = part === 3 ? [pos ^ (1 << pick(12)), -1, 4_096, 0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY][pick(7)] : pos;
    const claim = { txid: part === 0 ? mutateText(txid, pick) : txid, strippedBytes: 200, branch: list, pos: place ?? 0 };
    const same = claim.txid.toLowerCase() === txid && list.join("").toLowerCase() === branch.join("") && place === pos;
    expect(checkInclusion(claim, root.value).ok, JSON.stringify(claim)).toBe(same);
  }
  memory.check();
});
