/** Gas limits of the transactions of a swap: KDF's fixed ones (swap-protocol.md 5.4); a coin entry may name others. */
export type GasLimits = {
  readonly nativeSend: bigint;
  readonly tokenTransfer: bigint;
  readonly nativePayment: bigint;
  readonly tokenPayment: bigint;
  readonly nativeSpend: bigint;
  readonly tokenSpend: bigint;
  readonly nativeRefund: bigint;
  readonly tokenRefund: bigint;
  /** What `get_trade_fee` reckons with (rpc.md 9.3). */
  readonly tradeFee: bigint;
};

export const KDF_GAS_LIMITS: GasLimits = {
  nativeSend: 21_000n,
  tokenTransfer: 210_000n,
  nativePayment: 65_000n,
  tokenPayment: 150_000n,
  nativeSpend: 65_000n,
  tokenSpend: 150_000n,
  nativeRefund: 100_000n,
  tokenRefund: 150_000n,
  tradeFee: 150_000n,
};

/** Names of the limits in a coin entry's `gas_limit` object. */
const ENTRY_NAMES: { readonly [K in keyof GasLimits]: string } = {
  nativeSend: "eth_send_coins",
  tokenTransfer: "eth_send_erc20",
  nativePayment: "eth_payment",
  tokenPayment: "erc20_payment",
  nativeSpend: "eth_receiver_spend",
  tokenSpend: "erc20_receiver_spend",
  nativeRefund: "eth_sender_refund",
  tokenRefund: "erc20_sender_refund",
  tradeFee: "eth_max_trade_gas",
};
/** A transfer needs this much; no chain's block holds more than the other. */
const LEAST_GAS = 21_000;
const MOST_GAS = 1_000_000_000;

type Names = keyof GasLimits;

function limitOf(name: Names, given: ReadonlyMap<string, unknown>): bigint | null {
  const own = given.get(ENTRY_NAMES[name]);
  if (own === undefined || own === null) return KDF_GAS_LIMITS[name];
  return typeof own === "number" && Number.isInteger(own) && own >= LEAST_GAS && own <= MOST_GAS ? BigInt(own) : null;
}

/** KDF's limits with those a coin entry's `gas_limit` names instead; null when one of them is no sensible amount of gas. */
export function parseGasLimits(value: unknown): GasLimits | null {
  if (value === undefined || value === null) return KDF_GAS_LIMITS;
  if (typeof value !== "object" || Array.isArray(value)) return null;
  const given = new Map<string, unknown>(Object.entries(value));
  let limits = KDF_GAS_LIMITS;
  for (const name of Object.keys(KDF_GAS_LIMITS) as Names[]) {
    const limit = limitOf(name, given);
    if (limit === null) return null;
    limits = { ...limits, [name]: limit };
  }
  return limits;
}
