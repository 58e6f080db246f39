import { expect, test } from "vitest";
import { startScriptedChain } from "../../../test/contract/scriptedChain.ts";
import { scriptNumber, spendOf } from "../../../test/contract/spendable.ts";
import { PromptClock } from "../../../test/fakes/promptClock.ts";
import { quietLog } from "../../../test/fakes/quietLog.ts";
import { CHAIN_SCHEMA, openChainStore } from "../../adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { openUtxoRpcChain } from "../../adapters/utxoRpc/utxoRpcChain.ts";
import { add, fromUnits, sub, ZERO } from "../../core/money/rational.ts";
import type { AddressRules } from "../../core/utxo/address.ts";
import { readHistory } from "./txHistory.ts";

const RULES: AddressRules = {
  p2pkhPrefix: Uint8Array.of(60),
  p2shPrefix: Uint8Array.of(85),
  hrp: null,
  segwit: false,
  cashPrefix: null,
  format: "standard",
};

test("what was paid long ago is told as paid, however many outputs were spent since", async () => {
  const h = startScriptedChain();
  const { rpc, format, clock } = h;
  const db = openInlineDatabase(":memory:", [CHAIN_SCHEMA]);
  let read = 0;
  const store = openChainStore(
    {
      ...db,
      async read(...query) {
        const rows = await db.read(...query);
        read += rows.filter(({ raw }) => raw instanceof Uint8Array).length;
        return rows;
      },
    },
    "TST",
  );
  const chain = await openUtxoRpcChain({ ticker: "TST", format, rpc, clock, store, log: quietLog });
  const own = scriptNumber(1);
  await chain.watchScript(own, 0);
  let from = { txid: h.pay(own, 9_000_000n), vout: 0, value: 9_000_000n };
  h.mine();
  const spends: string[] = [];
  for (let i = 0; i < 150; i++) {
    from = { txid: h.send(spendOf(format, 1, [from], own, 1_000n)), vout: 0, value: from.value - 1_000n };
    spends.push(from.txid);
    h.mine();
  }
  h.mine(250);
  h.pay(own, 5n);
  h.mine();
  await chain.refresh();
  const turns = new PromptClock();
  const of = { chain, clock: turns, scripts: [own], format, rules: RULES, decimals: 8 };
  // A backend may be far away, and have to be asked for the time of each block: several are on the way at once, and not all.
  let [onTheWay, most, asked] = [0, 0, 0];
  const blockTimeSec: typeof chain.blockTimeSec = async (block) => {
    most = Math.max(most, ++onTheWay);
    asked++;
    const time = await chain.blockTimeSec(block);
    onTheWay--;
    return time;
  };
  await readHistory({ ...of, chain: { ...chain, blockTimeSec } }, { kind: "page", number: 1 }, 1_000, new AbortController().signal);
  expect([most, asked]).toEqual([20, 152]);
  // Of thousands of transactions some are described in a turn of the event loop: others come to theirs.
  let described = 0;
  const mostInTurn: number[] = [];
  turns.onTurn = () => {
    mostInTurn.push(described);
    described = 0;
  };
  const confirmations: typeof chain.confirmations = (block) => {
    described++;
    return chain.confirmations(block);
  };
  const page = await readHistory(
    { ...of, chain: { ...chain, confirmations } },
    { kind: "page", number: 1 },
    1_000,
    new AbortController().signal,
  );
  expect([...mostInTurn, described]).toEqual([...Array<number>(7).fill(20), 12]);
  const txs = page?.txs ?? [];
  const paid = txs.filter(({ fee }) => fee !== null);
  expect(paid.map(({ txid }) => txid)).toEqual(spends.toReversed());
  for (const { fee, total, spentByMe } of paid) expect([fee, total]).toEqual([fromUnits(1_000n, 8), spentByMe]);
  const sum = txs.map(({ receivedByMe, spentByMe }) => sub(receivedByMe, spentByMe)).reduce(add, ZERO);
  expect(sum).toEqual(fromUnits(9_000_000n - 150_000n + 5n, 8));
  // A page reads the bytes of what it shows and of nothing else.
  read = 0;
  const second = await readHistory(of, { kind: "page", number: 2 }, 10, new AbortController().signal);
  expect([second?.txs, second?.skipped, second?.total, read]).toEqual([txs.slice(10, 20), 10, 152, 10]);
  const behind = await readHistory(of, { kind: "after", txid: txs[149]?.txid ?? "" }, 10, new AbortController().signal);
  expect([behind?.txs, behind?.skipped, read]).toEqual([txs.slice(150), 150, 12]);
  // Its bytes are there as well.
  const [oldest = ""] = spends;
  const [kept] = await chain.storedTxs([oldest]);
  expect([chain.tx(oldest), kept?.raw]).toEqual([undefined, txs.find(({ txid }) => txid === oldest)?.raw]);
  expect(await chain.storedTxs(["00".repeat(32)])).toEqual([]);
  await chain.close();
});
