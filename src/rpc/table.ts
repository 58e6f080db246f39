import type { Method } from "./define.ts";
import { NETWORK_METHODS } from "./tables/network.ts";
import { ORDERS_METHODS } from "./tables/orders.ts";
import { SWAPS_METHODS } from "./tables/swaps.ts";
import { WALLET_METHODS } from "./tables/wallet.ts";

/** Every RPC method of this node, by topic: the order of the documents. */
export const METHODS: readonly Method[] = [...ORDERS_METHODS, ...SWAPS_METHODS, ...WALLET_METHODS, ...NETWORK_METHODS];

export type MethodTable = { readonly flat: ReadonlyMap<string, Method>; readonly v2: ReadonlyMap<string, Method> };

/** Names KDF answers without a password and to other machines; most have had no handler for years (reference rpc.md 1.4). */
const PUBLIC_NAMES: ReadonlySet<unknown> = new Set([
  ...["fundvalue", "getprice", "getpeers", "getcoins", "help", "metrics", "notify", "orderbook", "passphrase", "pricearray", "psock"],
  ...["statsdisp", "stats_swap_status", "tradesarray", "ticker", "version"],
]);

/** Whether a call needs no password. One without a method name needs none: it reaches no handler. */
export const isPublic = (name: unknown): boolean => typeof name !== "string" || PUBLIC_NAMES.has(name);

/** The methods of each style by name. Throws when two claim one name. */
export function methodTable(methods: readonly Method[] = METHODS): MethodTable {
  const [flat, v2] = [new Map<string, Method>(), new Map<string, Method>()];
  const put = (map: Map<string, Method>, method: Method): void => {
    if (map.has(method.name)) throw new Error(`two methods are called ${method.name}`);
    map.set(method.name, method);
  };
  for (const method of methods) {
    if (method.style !== "v2") put(flat, method);
    if (method.style !== "flat") put(v2, method);
  }
  return { flat, v2 };
}
