import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin } from "../field.ts";

export const showPrivKey = defineMethod<NoSuchCoin>()({
  name: "show_priv_key",
  style: "flat",
  summary:
    "Show the private key of an enabled coin's address. Whoever has it has the money, of every coin in a wallet without HD keys. It is written to no log.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: legacyCoin() }),
  result: z.object({ coin: z.string(), priv_key: z.string().describe("Wallet import format with the coin's prefix, compressed.") }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    return coin.ok ? ok({ coin: p.coin, priv_key: coin.value.privKey().reveal() }) : coin;
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "The key of an address (here the number 1, which everybody knows)",
      style: "flat",
      params: { coin: "DOC" },
      result: { coin: "DOC", priv_key: "Up1YVLk7uuErCHVQyFCtfinZngmdwfyfc47WCQ8oJxgowjVzNeqs" },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
