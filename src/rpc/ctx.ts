import type { Clock } from "../ports/clock.ts";
import type { CoinsApi } from "./ctx/coins.ts";
import type { DexFeeApi, NodeApi, PeersApi } from "./ctx/network.ts";
import type { OrderbookApi, OrdersApi } from "./ctx/orders.ts";
import type { SwapsApi } from "./ctx/swaps.ts";
import type { TasksApi } from "./ctx/tasks.ts";

/**
 * `swapnode.compatibility`: whose reply is given where the interface document and KDF disagree and no other node sees the
 * difference. docs/compatibility.md has the rows.
 */
export type Compatibility = "spec" | "kdf";

/** What the RPC methods need of the node. Small interfaces, satisfied structurally; `main/compose.ts` puts them together. */
export type RpcContext = {
  readonly clock: Clock;
  readonly compatibility: Compatibility;
  readonly node: NodeApi;
  readonly coins: CoinsApi;
  readonly orders: OrdersApi;
  readonly orderbook: OrderbookApi;
  readonly swaps: SwapsApi;
  readonly dexFee: DexFeeApi;
  readonly peers: PeersApi;
  readonly tasks: TasksApi;
};
