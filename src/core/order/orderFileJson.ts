import { toRationalValue } from "../money/rationalValue.ts";
import type { MakerOrder } from "./makerOrder.ts";
import { makerResultToJson, takerOrderToJson } from "./orderJson.ts";
import type { TakerOrder } from "./takerOrder.ts";

type Json = Readonly<Record<string, unknown>>;

/** The shape KDF stores: numbers only as fractions under the plain name, and no `method` markers. */
function toStoredForm(value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const fields = value as Json;
  const stored: Record<string, unknown> = {};
  for (const [name, content] of Object.entries(fields)) {
    if (name === "method" || name.endsWith("_rat") || name.endsWith("_fraction")) continue;
    stored[name] = fields[`${name}_rat`] ?? toStoredForm(content);
  }
  return stored;
}

/** Content of `ORDERS/MY/MAKER/<uuid>.json` (reference rpc.md 6.8). `ownKey`: 66 hex. */
export const makerFileJson = (order: MakerOrder, ownKey: string): Json => ({
  ...(toStoredForm(makerResultToJson(order, ownKey)) as Json),
  save_in_history: order.saveInHistory,
  p2p_privkey: null,
  timeout_in_minutes: order.timeoutMinutes,
});

/** Content of `ORDERS/MY/TAKER/<uuid>.json` (reference rpc.md 6.8). `ownKey`: 66 hex. */
export function takerFileJson(order: TakerOrder, ownKey: string): Json {
  const { cancellable: _, ...shown } = takerOrderToJson(order, ownKey);
  return {
    ...(toStoredForm(shown) as Json),
    min_volume: toRationalValue(order.minVolume),
    timeout: order.timeoutSec,
    save_in_history: order.saveInHistory,
    p2p_privkey: null,
  };
}
