import { sha256 } from "@noble/hashes/sha2.js";
import { describe, expect, test } from "vitest";
import { createChainWorld, draft, type Funded, fund, pay, payTo, SECRET, testContract, testKey } from "../../test/fakes/chainWorld.ts";
import { concatBytes } from "../core/util/bytes.ts";
import { hash160 } from "../core/utxo/hash.ts";
import { claimScriptSig, refundScriptSig } from "../core/utxo/htlc.ts";
import { opReturnScript, p2shScript } from "../core/utxo/outputScript.ts";
import { pushBytes } from "../core/utxo/script.ts";
import { signScript, withInput } from "../core/utxo/signInput.ts";
import { type ChainTx, txToChainTx } from "./chainTx.ts";
import type { EmbeddedChain } from "./embeddedChain.ts";

const OWNER = testKey("owner");
const OUT = payTo(testKey("anyone"));

/** "ok", or the reason a transaction is refused. */
function outcome(chain: EmbeddedChain, tx: ChainTx): string {
  const sent = chain.send(tx);
  return sent.ok ? "ok" : sent.error.reason;
}

function world(kind: "legacy" | "segwit" | "kmd" = "legacy") {
  const { chain, clock } = createChainWorld(kind);
  return { chain, clock, coin: fund(chain, payTo(OWNER)) };
}

const spend = (chain: EmbeddedChain, coin: Funded & { sequence?: number }, fee: bigint, script: Uint8Array = OUT): ChainTx =>
  pay(chain, [coin], OWNER, [{ value: coin.value - fee, script }]);

describe("fees and dust", () => {
  test("a fee below the relay minimum is refused, the minimum itself is taken", () => {
    const { chain, coin } = world();
    const vsize = BigInt(spend(chain, coin, 1_000n).vsize);
    expect(outcome(chain, spend(chain, coin, vsize - 2n))).toBe("min relay fee not met");
    expect(outcome(chain, spend(chain, coin, vsize))).toBe("ok");
  });

  test.each([
    ["legacy", 546n],
    ["segwit", 546n],
    ["kmd", 54n],
  ] as const)("on a %s chain a P2PKH output of %s is the smallest that is relayed", (kind, least) => {
    const { chain, coin } = world(kind);
    const paying = (value: bigint) =>
      pay(chain, [coin], OWNER, [
        { value, script: OUT },
        { value: coin.value - value - 1_000n, script: OUT },
      ]);
    expect(outcome(chain, paying(least - 1n))).toBe("dust");
    expect(outcome(chain, paying(least))).toBe("ok");
  });
});

describe("what is standard", () => {
  test("one OP_RETURN of any value passes, two do not", () => {
    const { chain, coin } = world();
    const data = { value: 0n, script: opReturnScript(new Uint8Array(20)) };
    const paid = { value: 9_000_000n, script: OUT };
    expect(outcome(chain, pay(chain, [coin], OWNER, [paid, data, data]))).toBe("multi-op-return");
    expect(outcome(chain, pay(chain, [coin], OWNER, [{ ...paid, value: 9_900_000n }, data]))).toBe("ok");
  });

  test("an unknown script, a long OP_RETURN and a small transaction are refused", () => {
    const { chain, coin } = world();
    const paying = (script: Uint8Array) => pay(chain, [coin], OWNER, [{ value: 9_000_000n, script }]);
    expect(outcome(chain, paying(Uint8Array.of(0x51, 0x51)))).toBe("scriptpubkey");
    expect(outcome(chain, paying(opReturnScript(new Uint8Array(82))))).toBe("scriptpubkey");
  });

  test("a scriptSig that does more than push is refused", () => {
    const { chain, coin } = world();
    const signed = spend(chain, coin, 1_000n);
    const scriptSig = concatBytes(signed.tx.inputs[0]?.scriptSig ?? new Uint8Array(0), Uint8Array.of(0x61));
    expect(outcome(chain, txToChainTx(withInput(signed.tx, 0, { scriptSig })))).toBe("scriptsig-not-pushonly");
  });

  test("a lock time in a script must be pushed in its shortest form, though blocks may hold it", () => {
    const { chain } = world();
    // 00 00 00 01 00: five bytes for a number of four.
    const redeem = concatBytes(pushBytes(Uint8Array.of(1, 0, 0)), Uint8Array.of(0xb1));
    const coin = fund(chain, p2shScript(hash160(redeem)));
    const tx = draft(chain, [{ ...coin, sequence: 0 }], [{ value: 9_000_000n, script: OUT }], 5);
    const claim = txToChainTx(withInput(tx, 0, { scriptSig: pushBytes(redeem) }));
    expect(outcome(chain, claim)).toBe("non-mandatory-script-verify-flag (unknown error)");
    expect(chain.mineExactly(OUT, [claim]).ok).toBe(true);
  });

  test("witness outputs are not standard on a chain without segwit", () => {
    const { chain, coin } = world("legacy");
    const p2wpkh = concatBytes(Uint8Array.of(0), pushBytes(new Uint8Array(20).fill(1)));
    expect(outcome(chain, spend(chain, coin, 1_000n, p2wpkh))).toBe("scriptpubkey");
    const segwit = world("segwit");
    expect(outcome(segwit.chain, spend(segwit.chain, segwit.coin, 1_000n, p2wpkh))).toBe("ok");
  });
});

describe("conflicts and replacement", () => {
  const final = 0xffffffff;
  const optIn = 0xfffffffd;

  test("a second spend of an output is refused when the first did not opt in", () => {
    const { chain, coin } = world();
    expect(outcome(chain, spend(chain, { ...coin, sequence: final }, 1_000n))).toBe("ok");
    expect(outcome(chain, spend(chain, { ...coin, sequence: optIn }, 9_000n))).toBe("txn-mempool-conflict");
  });

  test("an opted-in transaction gives way to one that pays for itself and for the relay", () => {
    const { chain, coin } = world();
    const first = spend(chain, { ...coin, sequence: optIn }, 1_000n);
    expect(outcome(chain, first)).toBe("ok");
    expect(outcome(chain, spend(chain, { ...coin, sequence: final }, 1_100n))).toBe("insufficient fee");
    expect(outcome(chain, spend(chain, { ...coin, sequence: final }, 2_000n))).toBe("ok");
    expect(chain.mempool.graph.get(first.txid)).toBeUndefined();
    expect(chain.mempool.graph.size).toBe(1);
  });

  test("a replacement takes the replaced one's children with it", () => {
    const { chain, coin } = world();
    const parent = spend(chain, { ...coin, sequence: optIn }, 1_000n, payTo(OWNER));
    const child = spend(chain, { txid: parent.txid, vout: 0, value: coin.value - 1_000n, script: payTo(OWNER) }, 1_000n);
    expect([outcome(chain, parent), outcome(chain, child)]).toEqual(["ok", "ok"]);
    expect(outcome(chain, spend(chain, coin, 2_100n))).toBe("insufficient fee");
    expect(outcome(chain, spend(chain, coin, 3_000n))).toBe("ok");
    expect(chain.mempool.graph.get(child.txid)).toBeUndefined();
  });

  test("a child of an opted-in transaction can be replaced too", () => {
    const { chain, coin } = world();
    const parent = spend(chain, { ...coin, sequence: optIn }, 1_000n, payTo(OWNER));
    const output = { txid: parent.txid, vout: 0, value: coin.value - 1_000n, script: payTo(OWNER) };
    outcome(chain, parent);
    expect(outcome(chain, spend(chain, { ...output, sequence: final }, 1_000n))).toBe("ok");
    expect(outcome(chain, spend(chain, { ...output, sequence: final }, 5_000n))).toBe("ok");
  });

  test("a KMD-family chain never replaces", () => {
    const { chain, coin } = world("kmd");
    expect(outcome(chain, spend(chain, { ...coin, sequence: optIn }, 1_000n))).toBe("ok");
    expect(outcome(chain, spend(chain, { ...coin, sequence: optIn }, 9_000n))).toBe("txn-mempool-conflict");
  });
});

test.each([
  ["KMD", "komodo-interest-invalid"],
  ["KIN", "ok"],
] as const)(
  "of %s a lock time an hour before the next block is %s, in the mempool and in a block, and what has waited so long is let go",
  (coin, told) => {
    const { chain } = createChainWorld("kmd", {}, { coin });
    const now = chain.time.nowSec;
    for (let i = 0; i < 11; i++) chain.mine(1);
    const [a, b, c] = [0, 1, 2].map(() => fund(chain, payTo(OWNER)));
    if (!a || !b || !c) expect.fail("no coins");
    const from = (coin: Funded, lockTime: number): ChainTx =>
      pay(chain, [coin], OWNER, [{ value: coin.value - 1_000n, script: OUT }], lockTime);
    // Its mempool takes the next block for 777 s above the median.
    const edge = chain.state.tip.medianTime + 777 - 3_600;
    expect([outcome(chain, from(a, edge)), outcome(chain, from(b, edge - 1)), outcome(chain, from(c, 1_000))]).toEqual(["ok", told, "ok"]);
    chain.time.set(now + 7_200);
    const mined = chain.mineExactly(chain.faucetScript, [from(b, edge)]);
    expect(mined.ok ? "ok" : mined.error.reason).toBe(told);
    chain.mine(8);
    expect([chain.state.coins.get(`${a.txid}:0`) === undefined, chain.state.coins.get(`${c.txid}:0`) === undefined]).toEqual([
      coin !== "KMD",
      true,
    ]);
    expect(chain.mempool.graph.entries().length).toBe(0);
  },
);

test("a chain of unconfirmed transactions ends at 25", () => {
  const { chain, coin } = world();
  let last: Funded = coin;
  const results: string[] = [];
  for (let i = 0; i < 26; i++) {
    const tx = spend(chain, last, 1_000n, payTo(OWNER));
    results.push(outcome(chain, tx));
    last = { txid: tx.txid, vout: 0, value: last.value - 1_000n, script: payTo(OWNER) };
  }
  expect(results).toEqual([...Array.from({ length: 25 }, () => "ok"), "too-long-mempool-chain"]);
});

test("an output that does not exist is a missing input, a known transaction is told apart", () => {
  const { chain, coin } = world();
  const missing = chain.send(spend(chain, { ...coin, vout: 9 }, 1_000n));
  expect(missing.ok ? "ok" : missing.error.kind).toBe("missing_inputs");
  const tx = spend(chain, coin, 1_000n);
  outcome(chain, tx);
  expect(outcome(chain, tx)).toBe("txn-already-in-mempool");
  chain.mine(1);
  expect(outcome(chain, tx)).toBe("txn-already-known");
});

test("when there is no room, those that pay least go first and the entry fee rises", () => {
  const { chain } = createChainWorld("legacy", { maxMempoolVbytes: 1_000 });
  const coins = Array.from({ length: 8 }, () => fund(chain, payTo(OWNER)));
  const txs = coins.map((coin, i) => spend(chain, coin, 1_000n + 500n * BigInt(i)));
  for (const tx of txs) outcome(chain, tx);
  expect(chain.mempool.graph.vbytes).toBeLessThanOrEqual(1_000);
  const [cheapest] = txs;
  expect(cheapest && chain.mempool.graph.get(cheapest.txid)).toBeUndefined();
  expect(chain.mempool.minFeePerKb).toBeGreaterThan(chain.params.minRelayFeePerKb);
  chain.mine(1);
  expect(chain.mempool.minFeePerKb).toBe(chain.params.minRelayFeePerKb);
});

test("a KMD-family transaction past its expiry height leaves the mempool and is refused", () => {
  const { chain, coin } = world("kmd");
  const signed = spend(chain, coin, 1_000n).tx;
  if (!signed.sapling) throw new Error("not a v4 transaction");
  const base = draft(chain, [coin], [{ value: 9_000_000n, script: OUT }]);
  const expiring = { ...base, sapling: { ...signed.sapling, expiryHeight: chain.state.tip.height + 1 } };
  const sig = signScript(expiring, 0, { value: coin.value, scriptCode: coin.script }, OWNER, chain.params.scheme);
  const tx = txToChainTx(withInput(expiring, 0, { scriptSig: concatBytes(pushBytes(sig), pushBytes(OWNER.publicKey)) }));
  expect(outcome(chain, tx)).toBe("ok");
  chain.held.add(tx.txid);
  chain.mine(1);
  expect(chain.mempool.graph.size).toBe(0);
  expect(outcome(chain, tx)).toBe("tx-overwinter-expired");
});

describe.each(["legacy", "segwit", "kmd"] as const)("a swap contract on a %s chain", (kind) => {
  const setUp = (lockIn: number) => {
    const { chain } = createChainWorld(kind);
    const lock = chain.state.tip.medianTime + lockIn;
    const contract = testContract(lock);
    const coin = fund(chain, contract.script);
    const sign = (tx: ReturnType<typeof draft>, key = contract.claimer) =>
      signScript(tx, 0, { value: coin.value, scriptCode: contract.redeem }, key, chain.params.scheme);
    const make = (sequence: number, lockTime: number, sig: (tx: ReturnType<typeof draft>) => Uint8Array): ChainTx => {
      const tx = draft(chain, [{ ...coin, sequence }], [{ value: coin.value - 1_000n, script: OUT }], lockTime);
      return txToChainTx(withInput(tx, 0, { scriptSig: sig(tx) }));
    };
    const claim = (secret: Uint8Array) => make(0xffffffff, lock, (tx) => claimScriptSig(sign(tx), secret, contract.redeem));
    const refund = (lockTime: number) => make(0xfffffffe, lockTime, (tx) => refundScriptSig(sign(tx, contract.refunder), contract.redeem));
    return { chain, lock, claim, refund };
  };

  test("is claimed with the secret at once, and not with another", () => {
    const { chain, claim } = setUp(3_600);
    expect(outcome(chain, claim(sha256(SECRET)))).toContain("OP_EQUALVERIFY");
    expect(outcome(chain, claim(SECRET))).toBe("ok");
    expect(chain.mine(1).ok).toBe(true);
    expect(chain.mempool.graph.size).toBe(0);
  });

  test("is refunded only after the median time has passed the lock", () => {
    const { chain, lock, refund } = setUp(100);
    expect(outcome(chain, refund(lock))).toBe("non-final");
    expect(outcome(chain, refund(lock - 200))).toContain("Locktime requirement not satisfied");
    chain.time.add(3_600);
    chain.mine(5);
    expect(outcome(chain, refund(lock))).toBe("non-final");
    chain.mine(1);
    expect(outcome(chain, refund(lock))).toBe("ok");
    expect(chain.mine(1).ok).toBe(true);
  });
});
