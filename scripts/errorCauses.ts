import type { RpcCoin } from "../src/rpc/ctx/coins.ts";
import type { NodeApi } from "../src/rpc/ctx/network.ts";
import { type FakeNode, type FakeNodeOptions, fakeNode, OPEN_ORDER } from "../test/fakes/fakeNode.ts";
import { FakeRpcCoin, MUTE } from "../test/fakes/rpc/fakeRpcCoin.ts";

/** A node on which a call fails for a cause that no example has, and that call. */
export type ErrorCause = {
  /** The declared kind of the failure. */
  readonly kind: string;
  readonly node: () => Promise<FakeNode>;
  readonly call: { readonly method: string; readonly [key: string]: unknown };
};

const pair = { base: "DOC", rel: "MARTY", price: "1", volume: "1" };
const v2 = (method: string, params: object): ErrorCause["call"] => ({ mmrpc: "2.0", method, params });
const busy = (options: FakeNodeOptions = {}) => fakeNode({ busy: true, ...options });

async function withNode(change: Partial<NodeApi>): Promise<FakeNode> {
  const node = await busy();
  return { ...node, ctx: { ...node.ctx, node: { ...node.ctx.node, ...change } } };
}
async function withCoins(change: (coin: FakeRpcCoin) => void): Promise<FakeNode> {
  const node = await busy();
  node.ctx.coins.all().forEach((coin: RpcCoin) => {
    if (coin instanceof FakeRpcCoin) change(coin);
  });
  return node;
}
const offline = () => withNode({ network: null });
const keyless = () => withNode({ publicKey: null });
const mute = () => busy({ active: ["DOC", MUTE] });
const withTrouble = (kind: "Transport" | "Internal", message: string) =>
  withCoins((coin) => {
    coin.trouble = { kind, coin: coin.ticker, message };
  });

const withKmd = () => busy({ active: ["DOC", "KMD"] });
const to = "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR";

export const ERROR_CAUSES: readonly ErrorCause[] = [
  { kind: "ConfirmationsDoNotFit", node: busy, call: { method: "setprice", ...pair, base_confs: 1_000 } },
  { kind: "NoFeeKey", node: withKmd, call: { method: "setprice", ...pair, rel: "KMD" } },
  { kind: "NoFeeKey", node: withKmd, call: { method: "sell", ...pair, base: "KMD", rel: "DOC" } },
  { kind: "NoFeeKey", node: withKmd, call: { method: "trade_preimage", ...pair, base: "KMD", rel: "DOC", swap_method: "sell" } },
  { kind: "CoinsNotActive", node: () => busy({ active: ["DOC"] }), call: { method: "update_maker_order", uuid: OPEN_ORDER } },
  { kind: "Transport", node: () => withTrouble("Transport", "connection refused"), call: { method: "setprice", ...pair } },
  { kind: "Internal", node: () => withTrouble("Internal", "no fee rate"), call: { method: "setprice", ...pair } },
  { kind: "NoNetwork", node: offline, call: { method: "get_my_peer_id" } },
  { kind: "NoLogin", node: keyless, call: v2("get_public_key", {}) },
  { kind: "NoLogin", node: keyless, call: v2("get_public_key_hash", {}) },
  { kind: "NotSupported", node: mute, call: v2("sign_message", { coin: MUTE, message: "hello" }) },
  { kind: "NotSupported", node: mute, call: v2("verify_message", { coin: MUTE, message: "hello", signature: "", address: "" }) },
  {
    kind: "InvalidFeePolicy",
    node: busy,
    call: { method: "withdraw", coin: "DOC", to, amount: "1", fee: { type: "EthGas", gas_price: "1", gas: 1 } },
  },
];
