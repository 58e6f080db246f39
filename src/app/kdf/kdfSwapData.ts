import { z } from "zod";
import { kdfTicker, kdfUuid } from "./savedSwap.ts";

/** Data of KDF's swap events, as far as a swap goes on with them (reference rpc.md 7.3). Fields of old files are optional. */

const seconds = z.number().int().min(500_000_000).max(0x7fffffff);
const height = z.number().int().min(0).max(0xffffffff);
const hex = (chars: number) => z.string().regex(new RegExp(`^[0-9a-f]{${chars}}$`));
const publicKey = z.string().regex(/^0[23][0-9a-f]{64}$/);
const hash = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
/** KDF writes up to 100 significant digits. */
const amount = z
  .string()
  .max(200)
  .regex(/^\d+(\.\d+)?([eE]-?\d{1,2})?$/);
const figure = z.object({ coin: kdfTicker, amount, paid_from_trading_vol: z.boolean() }).nullish();
const nota = z.boolean().nullish();

const common = {
  taker_coin: kdfTicker,
  maker_coin: kdfTicker,
  my_persistent_pub: publicKey,
  lock_duration: z.number().int().min(1).max(10_000_000),
  maker_amount: amount,
  taker_amount: amount,
  maker_payment_confirmations: height,
  maker_payment_requires_nota: nota,
  taker_payment_confirmations: height,
  taker_payment_requires_nota: nota,
  uuid: kdfUuid,
  started_at: seconds,
  maker_coin_start_block: height,
  taker_coin_start_block: height,
  maker_coin_htlc_pubkey: publicKey.nullish(),
  taker_coin_htlc_pubkey: publicKey.nullish(),
  p2p_privkey: z.array(z.number()).nullish(),
};

export const makerStart = z.object({
  ...common,
  taker: hex(64),
  secret: hex(64),
  secret_hash: hash.nullish(),
  maker_payment_lock: seconds,
  maker_payment_trade_fee: figure,
  taker_payment_spend_trade_fee: figure,
});
export const takerStart = z.object({
  ...common,
  maker: hex(64),
  taker_payment_lock: seconds,
  fee_to_send_taker_fee: figure,
  taker_payment_trade_fee: figure,
  maker_payment_spend_trade_fee: figure,
});

const agreed = { maker_coin_htlc_pubkey: publicKey.nullish(), taker_coin_htlc_pubkey: publicKey.nullish() };
/** The key fields of old files are where new ones have 66 zeros. */
const oldKey = z.string().nullish();
export const makerAgreed = z.object({ ...agreed, taker_payment_locktime: seconds, taker_pubkey: oldKey });
export const takerAgreed = z.object({ ...agreed, maker_payment_locktime: seconds, maker_pubkey: oldKey, secret_hash: hash });

export const txData = z.object({
  tx_hex: z
    .string()
    .min(2)
    .max(800_000)
    .regex(/^([0-9a-f]{2})*$/),
  tx_hash: hex(64),
});
export const spentData = z.object({ transaction: txData, secret: hex(64) });
export const failedData = z.object({ error: z.string().max(10_000) });
/** The shape of a key, for `oldKey`. */
export const isPublicKey = (text: unknown): text is string => publicKey.safeParse(text).success;
