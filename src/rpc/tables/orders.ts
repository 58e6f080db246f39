import type { Method } from "../define.ts";
import { buy } from "../methods/buy.ts";
import { cancelAllOrders } from "../methods/cancelAllOrders.ts";
import { cancelOrder } from "../methods/cancelOrder.ts";
import { myOrders } from "../methods/myOrders.ts";
import { orderbook, orderbookV2 } from "../methods/orderbook.ts";
import { orderStatus } from "../methods/orderStatus.ts";
import { sell } from "../methods/sell.ts";
import { setprice } from "../methods/setprice.ts";

/** Own orders and the order book. In the order of the documents. */
export const ORDERS_METHODS: readonly Method[] = [
  buy,
  sell,
  setprice,
  cancelOrder,
  cancelAllOrders,
  myOrders,
  orderStatus,
  orderbook,
  orderbookV2,
];
