import type { CancelBy } from "../app/orders/cancelOrders.ts";
import type { ConfWishes } from "../app/orders/orderInputs.ts";
import type { MatchBy } from "../core/message/types.ts";
import type { OrderType } from "../core/order/takerOrder.ts";
import { err, ok, type Result } from "../core/util/result.ts";

import { defaulted, optionalCount, optionalFlag, type Read, readList, readPubkeyX, readString, readUuid, required } from "./field.ts";
import { isJsonObject } from "./jsonNumber.ts";
import { found, MISSING, unknownVariant, wrongType } from "./serdeText.ts";

type Tagged = { readonly type: string; readonly data: unknown };

/** `{"type": …, "data": …}` with the parse texts of the reference node (reference rpc.md 4.1, 4.3). */
export function readTagged(
  value: unknown,
  name: string,
  style: "adjacently" | "internally",
  variants: readonly string[],
): Result<Tagged, string> {
  if (!isJsonObject(value)) {
    return err(wrongType(value, `${style} tagged enum ${name}`));
  }
  const type: unknown = "type" in value ? value.type : undefined;
  if (type === undefined) return err(`${MISSING} \`type\``);
  if (typeof type !== "string") return err(wrongType(type, "variant identifier"));
  return variants.includes(type) ? ok({ type, data: "data" in value ? value.data : undefined }) : err(unknownVariant(type, variants));
}

const unit = (tagged: Tagged, name: string): string | undefined =>
  tagged.data === undefined || tagged.data === null
    ? undefined
    : `invalid type: ${found(tagged.data)}, expected unit variant ${name}::${tagged.type}`;

const readMatchBy: Read<MatchBy> = (value) => {
  const tagged = readTagged(value, "MatchBy", "adjacently", ["Any", "Orders", "Pubkeys"]);
  if (!tagged.ok) return tagged;
  if (tagged.value.type === "Any") {
    const fault = unit(tagged.value, "MatchBy");
    return fault ? err(fault) : ok({ type: "Any" });
  }
  if (tagged.value.data === undefined) return err(`${MISSING} \`data\``);
  const orders = tagged.value.type === "Orders";
  const data = readList(orders ? readUuid : readPubkeyX)(tagged.value.data);
  return data.ok ? ok({ type: orders ? "Orders" : "Pubkeys", data: [...new Set(data.value)] }) : data;
};

const readOrderType: Read<OrderType> = (value) => {
  const tagged = readTagged(value, "OrderType", "internally", ["FillOrKill", "GoodTillCancelled"]);
  if (!tagged.ok) return tagged;
  return ok(tagged.value.type === "FillOrKill" ? "FillOrKill" : "GoodTillCancelled");
};

const readCancelBy: Read<CancelBy> = (value) => {
  const tagged = readTagged(value, "CancelBy", "adjacently", ["All", "Pair", "Coin"]);
  if (!tagged.ok) return tagged;
  const { type, data } = tagged.value;
  if (type === "All") {
    const fault = unit(tagged.value, "CancelBy");
    return fault ? err(fault) : ok({ type: "All" });
  }
  if (data === undefined) return err(`${MISSING} \`data\``);
  if (!isJsonObject(data)) return err(wrongType(data, `struct variant CancelBy::${type}`));
  if (type === "Coin") {
    const ticker = member(data, "ticker");
    return ticker.ok ? ok({ type: "Coin", ticker: ticker.value }) : ticker;
  }
  const base = member(data, "base");
  if (!base.ok) return base;
  const rel = member(data, "rel");
  return rel.ok ? ok({ type: "Pair", base: base.value, rel: rel.value }) : rel;
};

function member(object: object, key: string): Result<string, string> {
  const value: unknown = Object.getOwnPropertyDescriptor(object, key)?.value;
  return value === undefined ? err(`${MISSING} \`${key}\``) : readString(value);
}

const tag = (...names: readonly string[]) => ({ type: "object", properties: { type: { enum: names } }, required: ["type"] });
const withData = (name: string, data: object) => ({
  type: "object",
  properties: { type: { const: name }, data },
  required: ["type", "data"],
});
const strings = { type: "array", items: { type: "string" } };
const named = (...keys: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(keys.map((k) => [k, { type: "string" }])),
  required: keys,
});

export const matchBy = () =>
  defaulted<MatchBy>(
    readMatchBy,
    { type: "Any" },
    { title: "MatchBy", oneOf: [tag("Any"), withData("Orders", strings), withData("Pubkeys", strings)] },
  );

export const orderType = () =>
  defaulted<OrderType>(readOrderType, "GoodTillCancelled", { title: "OrderType", ...tag("GoodTillCancelled", "FillOrKill") });

/** A missing key reads like an explicit null here. */
export const cancelBy = () =>
  required<CancelBy>(
    readCancelBy,
    { title: "CancelBy", oneOf: [tag("All"), withData("Pair", named("base", "rel")), withData("Coin", named("ticker"))] },
    wrongType(null, "adjacently tagged enum CancelBy"),
  );

/** The four confirmation settings of an order request. */
export const confFields = () => ({
  base_confs: optionalCount().describe("Confirmations the base coin payment needs. Default: the coin's setting."),
  base_nota: optionalFlag().describe("Whether it must be notarized. Default: the coin's setting."),
  rel_confs: optionalCount().describe("As `base_confs`, for the rel coin payment."),
  rel_nota: optionalFlag().describe("As `base_nota`, for the rel coin payment."),
});

export const confOverrides = (p: {
  readonly base_confs: number | undefined;
  readonly base_nota: boolean | undefined;
  readonly rel_confs: number | undefined;
  readonly rel_nota: boolean | undefined;
}): ConfWishes => ({ baseConfs: p.base_confs, baseNota: p.base_nota, relConfs: p.rel_confs, relNota: p.rel_nota });
