import { z } from "zod";
import type { SendError } from "../../app/coin/withdraw.ts";
import { parseHex } from "../../core/util/bytes.ts";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin, required } from "../field.ts";

const NO_TX = "No 'tx_hex' or 'tx_json' field";

const result = z.object({ tx_hash: z.string() });
type Failure = NoSuchCoin | SendError | { readonly kind: "BadHex"; readonly text: string };

export const sendRawTransaction = defineMethod<Failure>()({
  name: "send_raw_transaction",
  style: "flat",
  flatReply: "bare",
  summary: "Send a finished transaction.",
  source: "reference rpc.md 5.1",
  params: z.object({
    coin: legacyCoin(),
    tx_hex: required((v) => (typeof v === "string" ? ok(v) : err(NO_TX)), { type: "string" }, NO_TX),
  }),
  result,
  async handle(p, ctx, { signal }) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const hex = p.tx_hex.replace(/^0x/, "");
    const raw = parseHex(hex);
    if (!raw.ok) return err({ kind: "BadHex", text: hex });
    const sent = await coin.value.sendRaw(raw.value, signal);
    return sent.ok ? ok({ tx_hash: sent.value }) : sent;
  },
  errors: {
    NoSuchCoin: noSuchCoin(true),
    BadHex: {
      http: 400,
      when: "`tx_hex` is not hex. Positions count behind a `0x`.",
      text: ({ text }) => {
        const odd = /[^0-9a-fA-F]/u.exec(text);
        return text.length % 2 === 1 ? "Odd number of digits" : `Invalid character '${odd?.[0]}' at position ${odd?.index}`;
      },
    },
    Rejected: { http: 500, when: "The daemon refused the transaction; its own words.", text: (e) => e.message },
    Transport: {
      http: 502,
      when: "The daemon gave no answer; the transaction may have been sent.",
      text: (e) => `${e.message.replace(/\.$/, "")}; whether the transaction was sent is not known`,
    },
  },
  examples: [
    {
      title: "A transaction the daemon takes",
      style: "flat",
      params: { coin: "DOC", tx_hex: "0400008085202f89" },
      result: { tx_hash: "0000000000000000000000000000000000000000000000000000000000000001" },
    },
    { title: "A transaction it refuses", style: "flat", params: { coin: "DOC", tx_hex: "00" }, error: "Rejected" },
    { title: "Not hex", style: "flat", params: { coin: "DOC", tx_hex: "zz" }, error: "BadHex" },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD", tx_hex: "00" }, error: "NoSuchCoin" },
  ],
});
