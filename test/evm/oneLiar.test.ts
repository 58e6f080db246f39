import { expect, test } from "vitest";
import { toHex } from "../../src/core/util/bytes.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import { OWNER, PAYMENT_ID, type ScriptedNode, SWAP_CONTRACT, scriptedWorld } from "./support/scriptedEvm.ts";

const KEY: PaymentKey = { contract: SWAP_CONTRACT, id: PAYMENT_ID };
const METHODS = ["chainId", "getBlockByNumber", "getBalance", "getTransactionCount", "call", "getTransactionReceipt", "getLogs"].map(
  (name) => `eth_${name}`,
);

type Path = readonly string[];
type Lie = { readonly method: string; readonly path: Path };

/** Every place of an answer, the whole of it too. */
function places(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))];
}
/** The answer with something else of the same kind there. */
function altered(value: unknown, [key, ...rest]: Path): unknown {
  if (key !== undefined && typeof value === "object" && value !== null && key in value) {
    const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
    Object.assign(copy, { [key]: altered((value as Record<string, unknown>)[key], rest) });
    return copy;
  }
  if (key !== undefined || typeof value !== "string") return key === undefined ? null : value;
  const last = value.at(-1) === "1" ? "0" : "1";
  return `${value.slice(0, -1)}${last}`;
}

function lieOf(node: ScriptedNode, { method, path }: Lie): void {
  node.says.set(method, (_params, honest) => altered(honest(), path));
}
/** Notes the answer of each method with the most places. */
function noteOf(node: ScriptedNode, seen: Map<string, readonly Path[]>): void {
  for (const method of METHODS)
    node.says.set(method, (_params, honest) => {
      const answer = honest();
      const found = places(answer);
      if (found.length > (seen.get(method)?.length ?? 0)) seen.set(method, found);
      return answer;
    });
}

/** What three nodes, the quickest of which is asked first, show of a payment that is claimed, and again after a reorganisation. */
async function shown(prepare: (quickest: ScriptedNode) => void): Promise<readonly string[]> {
  const { evm, chain, drive, nodes } = scriptedWorld(3);
  for (const node of nodes) node.latencyMs = node === nodes[0] ? 0 : 40;
  prepare(nodes[0] ?? expect.fail("no node"));
  const [paid] = evm.mine([{ kind: "sent", id: PAYMENT_ID }]);
  const txid = paid?.txid ?? "";
  await drive(Promise.all([chain.watchAccount(OWNER), chain.watchTx(txid, 0), chain.watchPayment(KEY, 0)]));
  const views: string[] = [];
  const look = async (): Promise<void> => {
    await drive(chain.refresh());
    const { state, tip } = chain.status();
    const view = { state, hash: tip?.hash, account: chain.account(OWNER), tx: chain.tx(txid)?.block, payment: chain.payment(KEY) };
    const plain = (_: string, v: unknown): unknown => (typeof v === "bigint" ? String(v) : v instanceof Uint8Array ? toHex(v) : v);
    views.push(JSON.stringify(view, plain));
  };
  evm.mine([{ kind: "spent", id: PAYMENT_ID }]);
  await look();
  evm.rewind(1);
  evm.mine();
  evm.mine([{ kind: "spent", id: PAYMENT_ID }]);
  await look();
  await chain.close();
  return views;
}

test("no single place of any answer of the node that is asked first changes what three nodes show", async () => {
  const seen = new Map<string, readonly Path[]>();
  const honest = await shown((node) => noteOf(node, seen));
  const lies = [...seen].flatMap(([method, paths]) => paths.map((path): Lie => ({ method, path })));
  expect(lies.length).toBeGreaterThan(30);
  for (const lie of lies) expect({ lie, views: await shown((node) => lieOf(node, lie)) }).toEqual({ lie, views: honest });
});
