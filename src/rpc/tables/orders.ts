import type { Method } from "../define.ts";
import { bestOrders, bestOrdersV2 } from "../methods/bestOrders.ts";
import { buy } from "../methods/buy.ts";
import { cancelAllOrders } from "../methods/cancelAllOrders.ts";
import { cancelOrder } from "../methods/cancelOrder.ts";
import { myOrders } from "../methods/myOrders.ts";
import { orderbook, orderbookV2 } from "../methods/orderbook.ts";
import { orderbookDepth } from "../methods/orderbookDepth.ts";
import { orderStatus } from "../methods/orderStatus.ts";
import { ordersHistoryByFilter } from "../methods/ordersHistoryByFilter.ts";
import { sell } from "../methods/sell.ts";
import { setprice } from "../methods/setprice.ts";
import { updateMakerOrder } from "../methods/updateMakerOrder.ts";

/** Own orders and the order book. In the order of the documents. */
export const ORDERS_METHODS: readonly Method[] = [
  buy,
  sell,
  setprice,
  updateMakerOrder,
  cancelOrder,
  cancelAllOrders,
  myOrders,
  orderStatus,
  ordersHistoryByFilter,
  orderbook,
  orderbookV2,
  orderbookDepth,
  bestOrders,
  bestOrdersV2,
];
