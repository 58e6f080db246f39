import { afterEach, describe, expect, test } from "vitest";
import { CHAIN_SCHEMA, openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { serializeTx, txid } from "../../src/core/utxo/txCodec.ts";
import type { UtxoChainWithHistory } from "../../src/ports/chain.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import { seenBy, truthOf } from "./chainTruth.ts";
import type { ContractChain, OpenOptions } from "./contractChain.ts";
import { scriptNumber, spendOf } from "./spendable.ts";

const COIN = 100_000_000n;
const PAID = 2n * COIN;

/** The promises of the `UtxoChain` port, for every backend a test can steer. */
export function utxoChainContract(name: string, start: () => Promise<ContractChain>): void {
  const cleanup: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const undo of cleanup.splice(0).reverse()) await undo();
  });

  async function begin(): Promise<ContractChain> {
    const h = await start();
    cleanup.push(() => h.close());
    return h;
  }

  async function open(h: ContractChain, db?: SqlDatabase, options: OpenOptions = {}): Promise<UtxoChainWithHistory> {
    const store = openChainStore(db ?? openInlineDatabase(":memory:", [CHAIN_SCHEMA]), "TST");
    const chain = await h.open(store, { timeoutMs: 2_000, ...options });
    cleanup.push(() => chain.close());
    return chain;
  }

  /** Lets time pass until the condition holds. */
  async function until(h: ContractChain, condition: () => boolean): Promise<void> {
    for (let i = 0; i < 400 && !condition(); i++) await h.pass(h.pollMs);
    expect(condition()).toBe(true);
  }

  /** A look that needs time to pass: connections are made again. */
  async function refreshed(h: ContractChain, chain: UtxoChainWithHistory): Promise<void> {
    let fresh = false;
    const look = chain.refresh().then(() => {
      fresh = true;
    });
    await until(h, () => fresh);
    await look;
  }

  describe(name, () => {
    test("a payment is seen in the mempool, then in its block, and a reorg takes it back and gives it again", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(1);
      await chain.watchScript(script, h.blocks().length);
      const id = h.pay(script, PAID);
      await chain.refresh();
      expect(seenBy(chain, script)).toEqual([`${id}:${chain.outputs(script)[0]?.vout} ${PAID} @null unspent`]);
      expect(chain.confirmations(chain.tx(id)?.block ?? null)).toBe(0);
      h.mine();
      await chain.refresh();
      expect(chain.tx(id)?.block).toEqual({ height: h.blocks().length - 1, hash: h.blocks().at(-1)?.hash });
      expect(chain.confirmations(chain.tx(id)?.block ?? null)).toBe(1);
      h.mine();
      await chain.refresh();
      expect(chain.confirmations(chain.tx(id)?.block ?? null)).toBe(2);
      h.reorg(2, 3);
      await chain.refresh();
      expect(chain.tx(id)?.block).toBeNull();
      h.mine();
      await chain.refresh();
      expect(chain.tx(id)?.block?.height).toBe(h.blocks().length - 1);
      h.reorg(1, 2, [id]);
      await chain.refresh();
      expect(chain.tx(id)).toBeUndefined();
      expect(chain.outputs(script)).toEqual([]);
    });

    test("a spend is seen in the mempool and in its block, with the bytes that hold what it reveals", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(2);
      await chain.watchScript(script, 0);
      h.pay(script, PAID);
      h.mine();
      await chain.refresh();
      const before = chain.outputs(script);
      const kept = structuredClone(before);
      const spend = spendOf(h.format, 2, before, scriptNumber(900));
      expect(await chain.broadcast(serializeTx(spend))).toEqual({ kind: "accepted" });
      expect(chain.outputs(script)[0]?.spentBy).toEqual({ txid: txid(spend), block: null });
      expect(before, "a list that was given stays as it is").toEqual(kept);
      expect(toHex(chain.tx(txid(spend))?.raw ?? new Uint8Array(0))).toBe(toHex(serializeTx(spend)));
      h.mine();
      await chain.refresh();
      expect(chain.outputs(script)[0]?.spentBy?.block?.height).toBe(h.blocks().length - 1);
    });

    test("a transaction watched by id is followed though it pays no watched script", async () => {
      const h = await begin();
      const chain = await open(h);
      const id = h.pay(scriptNumber(3), PAID);
      await chain.watchTx(id, h.blocks().length);
      expect(chain.tx(id)?.block).toBeNull();
      h.mine();
      await chain.refresh();
      expect(chain.tx(id)?.block?.height).toBe(h.blocks().length - 1);
      await chain.unwatch({ txids: [id] });
      expect(chain.tx(id)).toBeUndefined();
    });

    test("a script watched later is found in older blocks, its spend too", async () => {
      const h = await begin();
      const chain = await open(h);
      await chain.watchScript(scriptNumber(4), 0);
      const script = scriptNumber(5);
      const from = h.blocks().length;
      const id = h.pay(script, PAID);
      h.mine(3);
      const paid = h
        .blocks()
        .flatMap((b) => b.txs)
        .find((t) => txid(t) === id);
      const vout = paid?.outputs.findIndex((o) => toHex(o.script) === toHex(script)) ?? -1;
      h.send(spendOf(h.format, 5, [{ txid: id, vout, value: PAID }], scriptNumber(901)));
      h.mine(3);
      await chain.refresh();
      await chain.watchScript(script, from);
      expect(seenBy(chain, script)).toEqual(truthOf(h, script));
      expect(chain.outputs(script)[0]?.spentBy?.block).not.toBeNull();
      await chain.unwatch({ scripts: [script] });
      expect(chain.outputs(script)).toEqual([]);
    });

    test("a script without birthday is found on a long chain by whatever the backend offers", async () => {
      const h = await begin();
      const script = scriptNumber(13);
      const id = h.pay(script, PAID);
      h.mine(12);
      const chain = await open(h, undefined, { readWholeUpTo: 10 });
      await chain.watchScript(script, 0);
      expect(seenBy(chain, script)).toEqual(truthOf(h, script));
      h.send(spendOf(h.format, 13, chain.outputs(script), scriptNumber(905)));
      h.mine();
      await chain.refresh();
      expect(seenBy(chain, script)).toEqual(truthOf(h, script));
      expect(chain.outputs(script)[0]?.txid).toBe(id);
    });

    test("an unconfirmed payment older than the watch is found", async () => {
      const h = await begin();
      const chain = await open(h);
      const id = h.pay(scriptNumber(6), PAID);
      await chain.refresh();
      await chain.watchScript(scriptNumber(6), h.blocks().length);
      expect(chain.outputs(scriptNumber(6))[0]?.txid).toBe(id);
    });

    test("an unconfirmed spend seen before its output was watched is found with it", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(12);
      const id = h.pay(script, PAID);
      h.mine();
      const paid = h
        .blocks()
        .flatMap((b) => b.txs)
        .find((t) => txid(t) === id);
      const vout = paid?.outputs.findIndex((o) => toHex(o.script) === toHex(script)) ?? -1;
      const spend = h.send(spendOf(h.format, 12, [{ txid: id, vout, value: PAID }], scriptNumber(904)));
      await chain.refresh();
      await chain.watchScript(script, 0);
      expect(chain.outputs(script)[0]?.spentBy).toEqual({ txid: spend, block: null });
    });

    test("the backend goes away and comes back: nothing is lost, the status says so meanwhile", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(7);
      await chain.watchScript(script, 0);
      h.down.set(true);
      await until(h, () => chain.status().state === "unreachable");
      expect(chain.status().error).toContain(h.down.says);
      const id = h.pay(script, PAID);
      h.mine(2);
      await h.pass(10 * h.pollMs);
      h.down.set(false);
      await until(h, () => chain.status().state === "ready");
      expect(chain.status().error).toBeNull();
      expect(chain.tx(id)?.block?.height).toBe(h.blocks().length - 2);
    });

    test("a backend that lies about its height changes nothing and is named", async () => {
      const h = await begin();
      const chain = await open(h);
      await chain.watchScript(scriptNumber(8), 0);
      const before = chain.status().tip;
      h.mine();
      h.falseHeight.set(true);
      await until(h, () => chain.status().state === "unreachable");
      expect(chain.status().error).toContain(h.falseHeight.says);
      expect(chain.status().tip).toEqual(before);
      h.falseHeight.set(false);
      await until(h, () => chain.status().state === "ready");
      await refreshed(h, chain);
      expect(chain.status().tip?.height).toBe(h.blocks().length - 1);
    });

    test("a call that is never answered hits its deadline and later calls go through", async () => {
      const h = await begin();
      const chain = await open(h, undefined, { timeoutMs: 5 * h.pollMs });
      await chain.refresh();
      h.stall.set(true);
      await until(h, () => chain.status().state === "unreachable");
      expect(chain.status().error).toContain(h.stall.says);
      h.stall.set(false);
      await until(h, () => chain.status().state === "ready");
    });

    test("a restart goes on where the store ends, without reading old blocks again", async () => {
      const h = await begin();
      const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
      const script = scriptNumber(9);
      const first = await open(h, db);
      await first.watchScript(script, 0);
      const id = h.pay(script, PAID);
      h.mine(5);
      await first.refresh();
      const before = seenBy(first, script);
      await first.close();
      h.mine(2);
      h.reads.clear();
      const second = await open(h, db);
      expect(seenBy(second, script)).toEqual(before);
      await second.refresh();
      expect(second.tx(id)?.block?.height).toBe(h.blocks().length - 7);
      expect(second.status().tip?.height).toBe(h.blocks().length - 1);
      expect(h.reads.count()).toBeLessThanOrEqual(2);
    });

    test("a broadcast whose reply is lost is asked for, and one nobody has stays unknown", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(10);
      await chain.watchScript(script, 0);
      h.pay(script, PAID);
      h.mine();
      await chain.refresh();
      const raw = serializeTx(spendOf(h.format, 10, chain.outputs(script), scriptNumber(902)));
      h.lostReply.set(true);
      expect(h.lostReply.outcomes).toContain((await chain.broadcast(raw)).kind);
      h.lostReply.set(false);
      await refreshed(h, chain);
      // Daemons differ: some take it once more, some say they have it.
      expect(["accepted", "already_known"]).toContain((await chain.broadcast(raw)).kind);
      h.mine();
      await chain.refresh();
      expect((await chain.broadcast(raw)).kind).toBe("already_known");
      h.down.set(true);
      const other = serializeTx(spendOf(h.format, 10, [{ txid: "11".repeat(32), vout: 0, value: PAID }], script));
      expect((await chain.broadcast(other)).kind).toBe("unknown");
      h.down.set(false);
    });

    test("median time past is that of the last eleven headers", async () => {
      const h = await begin();
      const chain = await open(h);
      h.mine(12);
      await chain.refresh();
      const tip = chain.status().tip;
      expect(tip?.hash).toBe(h.blocks().at(-1)?.hash);
      expect(tip?.medianTimePastSec).toBeLessThanOrEqual(tip?.timeSec ?? 0);
      expect(tip?.medianTimePastSec).toBeGreaterThan(0);
    });

    test("history lists what paid and spent a script, newest first", async () => {
      const h = await begin();
      const chain = await open(h);
      const script = scriptNumber(11);
      await chain.watchScript(script, 0);
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) {
        ids.push(h.pay(script, PAID + BigInt(i)));
        h.mine();
      }
      await chain.refresh();
      expect(await chain.history([script], 2)).toEqual([ids[2], ids[1]]);
      expect(await chain.history([script], 9)).toEqual(ids.toReversed());
      const [first = ""] = ids;
      expect((await chain.storedTxs([first, "00".repeat(32)])).map((t) => [t.txid, t.block])).toEqual([[first, chain.tx(first)?.block]]);
      const outputs = chain.outputs(script).filter(({ txid }) => txid !== ids[0]);
      const spender = h.send(spendOf(h.format, 11, outputs, scriptNumber(12)));
      h.mine();
      await chain.refresh();
      const spent = await chain.spentOutputs([script], [spender, ...ids]);
      expect(spent.map(({ txid, value }) => [txid, value]).sort()).toEqual(outputs.map(({ txid, value }) => [txid, value]).sort());
      expect(spent).toHaveLength(2);
      expect(await chain.spentOutputs([scriptNumber(12)], [spender])).toEqual([]);
    });

    const random = Number.parseInt(process.env.SWAPNODE_SEED ?? "", 10) || (process.pid * 2_654_435_761) % 2 ** 31;
    for (const seed of [1, 2, random]) {
      test(`whatever order the news come in, the reads answer what the chain says (seed ${seed})`, async () => {
        const h = await begin();
        const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
        const chain = await open(h, db);
        const rng = seededRng(seed);
        const pick = (n: number): number => ((rng.bytes(2)[0] ?? 0) * 256 + (rng.bytes(1)[0] ?? 0)) % n;
        const scripts = [20, 21, 22].map(scriptNumber);
        const watched: Uint8Array[] = [];
        const trace: string[] = [];
        const watchNext = async (): Promise<void> => {
          const script = scripts[watched.length];
          if (script === undefined) return;
          watched.push(script);
          await chain.watchScript(script, 0);
        };
        await watchNext();
        const step: (() => Promise<void> | void)[] = [
          () => void h.pay(scripts[pick(3)] ?? (scripts[0] as Uint8Array), COIN + BigInt(pick(1000))),
          () => h.mine(1 + pick(3)),
          () => h.mine(),
          () => {
            const n = pick(3);
            const owned = h
              .blocks()
              .flatMap((b) => b.txs)
              .flatMap((tx) =>
                tx.outputs.flatMap((o, vout) =>
                  toHex(o.script) === toHex(scriptNumber(20 + n)) ? [{ txid: txid(tx), vout, value: o.value }] : [],
                ),
              );
            const taken = [...h.blocks().flatMap((b) => b.txs), ...h.mempool()].flatMap((t) => t.inputs.map((i) => `${i.txid}:${i.vout}`));
            const free = owned.filter((o) => !taken.includes(`${o.txid}:${o.vout}`));
            if (free[0]) h.send(spendOf(h.format, 20 + n, [free[0]], scripts[pick(3)] ?? scriptNumber(903)));
          },
          () => {
            const depth = 1 + pick(3);
            h.reorg(depth, depth + 1 + pick(2));
          },
          async () => chain.refresh(),
          watchNext,
          () => h.pass(h.pollMs),
        ];
        for (let i = 0; i < 60; i++) {
          const n = pick(step.length);
          trace.push(String(n));
          await step[n]?.();
          if (pick(4) !== 0) continue;
          await chain.refresh();
          for (const script of watched) expect(seenBy(chain, script), `steps ${trace.join(" ")}`).toEqual(truthOf(h, script));
        }
        await chain.refresh();
        await chain.refresh();
        for (const script of watched) expect(seenBy(chain, script), `steps ${trace.join(" ")}`).toEqual(truthOf(h, script));
        expect(chain.status().tip?.hash).toBe(h.blocks().at(-1)?.hash);
        // What is stored is what was answered.
        const before = watched.map((script) => seenBy(chain, script));
        await chain.close();
        h.down.set(true);
        const again = await open(h, db);
        expect(watched.map((script) => seenBy(again, script))).toEqual(before);
        expect(again.status().tip?.hash).toBe(h.blocks().at(-1)?.hash);
        await again.unwatch({ scripts: watched });
        for (const table of ["chain_tx", "chain_output", "chain_spend", "chain_watch"])
          expect(await db.read(`SELECT count(*) AS n FROM ${table}`)).toEqual([{ n: 0 }]);
      });
    }
  });
}
