import { afterEach, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { parseHeader } from "../../src/core/proof/blockHeader.ts";
import { hasWork } from "../../src/core/proof/proofOfWork.ts";
import { fromHex, reversed, toHex } from "../../src/core/util/bytes.ts";
import { redeemScript } from "../../src/core/utxo/htlc.ts";
import { OP } from "../../src/core/utxo/opcodes.ts";
import { pushBytes } from "../../src/core/utxo/script.ts";
import { serializeTx, txid as txidOf } from "../../src/core/utxo/txCodec.ts";
import { inProcess, type LineHooks, TEST_RULES } from "../contract/electrumChain.ts";
import { type SwapSide, SwapWorld } from "../fakes/swapWorld.ts";

// A coin whose blocks cost nothing: all connected servers make up a block that spends the taker's payment. One that is not connected is honest.

const LAST = 4;
const LOCK_SEC = 600;
let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

type Invented = { readonly height: number; readonly header: string; readonly txid: string; readonly tx: string };

/** A server that has an invented block on its chain, as soon as there is one, and none after it. */
function liarWith(invented: () => Invented | null): LineHooks {
  const asked = new Map<number, { readonly method: string; readonly params: readonly unknown[] }>();
  const lied = (method: string, [first, second]: readonly unknown[], result: unknown, lie: Invented): unknown => {
    const tip = { height: lie.height, hex: lie.header };
    switch (method) {
      case "blockchain.headers.subscribe":
        return tip;
      case "blockchain.block.header":
        return first === lie.height ? lie.header : result;
      case "blockchain.block.headers": {
        const { hex } = result as { hex: string };
        const [start, wanted] = [Number(first), Number(second)];
        const before = hex.slice(0, 160 * Math.max(0, lie.height - start));
        const all = before.length === 160 * (lie.height - start) && start + wanted > lie.height ? before + lie.header : before;
        return { ...(result as object), hex: all, count: all.length / 160 };
      }
      case "blockchain.scripthash.get_history":
        return [
          ...(result as readonly { height: number }[]).filter(({ height }) => height < lie.height),
          { tx_hash: lie.txid, height: lie.height },
        ];
      case "blockchain.scripthash.subscribe":
        return lie.txid;
      case "blockchain.transaction.get":
        return first === lie.txid ? lie.tx : result;
      case "blockchain.transaction.get_merkle":
        return first === lie.txid ? { block_height: lie.height, merkle: [], pos: 0 } : result;
      default:
        return result;
    }
  };
  return {
    asked: (line) => {
      const { id, method, params } = JSON.parse(line) as { id: number; method: string; params: readonly unknown[] };
      asked.set(id, { method, params });
    },
    answer: (line) => {
      const lie = invented();
      const { error, ...message } = JSON.parse(line) as { id?: number; method?: string; error?: unknown; result?: unknown };
      const call = asked.get(message.id ?? -1);
      if (lie === null) return line;
      if (message.method !== undefined) return null;
      const said = call === undefined ? message.result : lied(call.method, call.params, message.result, lie);
      return said === undefined ? line : JSON.stringify({ jsonrpc: "2.0", id: message.id, result: said });
    },
  };
}

/** What spends the taker's payment in the invented block: unlocks its contract, by a branch, with bytes that nobody signed. */
async function invent(taker: SwapSide, uuid: string, unlocking: Uint8Array): Promise<Invented> {
  const state = await taker.state(uuid);
  const chain = world.chain("BBB");
  const redeem = redeemScript(contractOf(state, "takerPayment"));
  const scriptSig = Uint8Array.from([...pushBytes(new Uint8Array(71).fill(0x30)), ...unlocking, ...pushBytes(redeem)]);
  const input = { txid: state.own.takerPayment?.txid ?? "", vout: 0, scriptSig, sequence: 0, witness: [] };
  const tx = { version: 1, inputs: [input], outputs: [{ value: 1_000n, script: taker.script }], lockTime: 0 };
  const { height, block } = chain.state.tip;
  const header = new Uint8Array(80);
  header.set([1], 0);
  header.set(reversed(fromHex(block.hash)), 4);
  header.set(reversed(fromHex(txidOf(tx))), 36);
  new DataView(header.buffer).setUint32(68, Math.floor(world.clock.nowMs() / 1_000), true);
  new DataView(header.buffer).setUint32(72, 0x207fffff, true);
  // Every second hash fits a target as easy as that.
  for (let nonce = 0; !isMined(header); nonce++) new DataView(header.buffer).setUint32(76, nonce, true);
  return { height: height + 1, header: toHex(header), txid: txidOf(tx), tx: toHex(serializeTx(tx)) };
}

function isMined(header: Uint8Array): boolean {
  const parsed = parseHeader(header, TEST_RULES);
  return parsed.ok && hasWork(parsed.value, TEST_RULES);
}

test.each([
  ["a refund", Uint8Array.of(OP.OP_1)],
  ["a claim without the secret", Uint8Array.from([...pushBytes(new Uint8Array(32).fill(7)), 0])],
  ["neither", new Uint8Array(0)],
])("in it is what looks like %s: the taker's refund goes out all the same, and the swap does not end with it", async (_, unlocking) => {
  let lie: Invented | null = null;
  world = await SwapWorld.open({}, (w) => {
    for (let i = 0; i <= LAST; i++) servers.push(new ElectrumServer(w.daemon("BBB"), w.clock));
    w.taker.electrum.set("BBB", {
      servers: servers.map((server, i) => inProcess(`server${i}`, () => server, i === LAST ? {} : liarWith(() => lie))),
      options: { maxConnected: 2 },
    });
  });
  const { taker } = world;
  const chain = world.chain("BBB");
  const uuid = await world.start({ lockDurationSec: LOCK_SEC });
  await world.until("the taker's payment is in a block", async () => (await taker.state(uuid)).facts.takerPayment?.block != null);
  await world.maker.stop();
  chain.autoMine(null);
  lie = await invent(taker, uuid, unlocking);
  const { txid } = lie;
  for (const { faults } of servers.slice(0, LAST)) faults.add({ kind: "swallow_broadcast" });
  await world.until("the block is believed", () => taker.coin("BBB").chain.tx(txid)?.block != null);
  chain.autoMine(20_000);
  const isBack = async (): Promise<boolean> => {
    const { takerPaymentRefund } = (await taker.state(uuid)).own;
    return takerPaymentRefund !== undefined && chain.state.blockOfTx(takerPaymentRefund.txid) !== undefined;
  };
  await world.until("the taker has its money back", isBack, 3 * 3_600);
  expect((await taker.state(uuid)).finished).toBeNull();
  await world.maker.restart();
});
