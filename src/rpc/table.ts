import type { Method } from "./define.ts";
import { activeSwaps, activeSwapsV2 } from "./methods/activeSwaps.ts";
import { banPubkey } from "./methods/banPubkey.ts";
import { buy } from "./methods/buy.ts";
import { cancelAllOrders } from "./methods/cancelAllOrders.ts";
import { cancelOrder } from "./methods/cancelOrder.ts";
import { coinsNeededForKickStart } from "./methods/coinsNeededForKickStart.ts";
import { disableCoin } from "./methods/disableCoin.ts";
import { enable } from "./methods/enable.ts";
import { getDirectlyConnectedPeers } from "./methods/getDirectlyConnectedPeers.ts";
import { getEnabledCoins, getEnabledCoinsV2 } from "./methods/getEnabledCoins.ts";
import { getMyPeerId } from "./methods/getMyPeerId.ts";
import { getPublicKey } from "./methods/getPublicKey.ts";
import { getTradeFee } from "./methods/getTradeFee.ts";
import { help } from "./methods/help.ts";
import { listBannedPubkeys } from "./methods/listBannedPubkeys.ts";
import { maxMakerVol } from "./methods/maxMakerVol.ts";
import { maxTakerVol } from "./methods/maxTakerVol.ts";
import { minTradingVol } from "./methods/minTradingVol.ts";
import { myBalance } from "./methods/myBalance.ts";
import { myOrders } from "./methods/myOrders.ts";
import { myRecentSwaps, myRecentSwapsV2 } from "./methods/myRecentSwaps.ts";
import { mySwapStatus, mySwapStatusV2 } from "./methods/mySwapStatus.ts";
import { orderbook, orderbookV2 } from "./methods/orderbook.ts";
import { orderStatus } from "./methods/orderStatus.ts";
import { recoverFundsOfSwap } from "./methods/recoverFundsOfSwap.ts";
import { sell } from "./methods/sell.ts";
import { sendRawTransaction } from "./methods/sendRawTransaction.ts";
import { setprice } from "./methods/setprice.ts";
import { setRequiredConfirmations } from "./methods/setRequiredConfirmations.ts";
import { setRequiresNotarization } from "./methods/setRequiresNotarization.ts";
import { signMessage } from "./methods/signMessage.ts";
import { stop } from "./methods/stop.ts";
import { tradePreimage } from "./methods/tradePreimage.ts";
import { unbanPubkeys } from "./methods/unbanPubkeys.ts";
import { validateaddress } from "./methods/validateaddress.ts";
import { verifyMessage } from "./methods/verifyMessage.ts";
import { version } from "./methods/version.ts";
import { withdraw } from "./methods/withdraw.ts";

/** Every RPC method of this node, by topic: the order of the documents. */
export const METHODS: readonly Method[] = [
  ...[buy, sell, setprice, cancelOrder, cancelAllOrders, myOrders, orderStatus, orderbook, orderbookV2],
  ...[
    myRecentSwaps,
    myRecentSwapsV2,
    mySwapStatus,
    mySwapStatusV2,
    activeSwaps,
    activeSwapsV2,
    recoverFundsOfSwap,
    coinsNeededForKickStart,
  ],
  ...[tradePreimage, getTradeFee, maxTakerVol, maxMakerVol, minTradingVol],
  ...[enable, disableCoin, getEnabledCoins, getEnabledCoinsV2, myBalance, withdraw, sendRawTransaction, validateaddress],
  ...[setRequiredConfirmations, setRequiresNotarization, signMessage, verifyMessage],
  ...[listBannedPubkeys, banPubkey, unbanPubkeys],
  ...[getPublicKey, getMyPeerId, getDirectlyConnectedPeers, version, help, stop],
];

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
