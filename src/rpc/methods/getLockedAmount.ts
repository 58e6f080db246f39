import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { ticker } from "../field.ts";
import { detailOf, numberDetail } from "../money.ts";

export const getLockedAmount = defineMethod<NoSuchCoin>()({
  name: "get_locked_amount",
  style: "v2",
  struct: "GetLockedAmountReq",
  summary: "What running swaps and open handshakes hold of a coin.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: ticker() }),
  result: z.object({ coin: z.string(), locked_amount: numberDetail }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    return coin.ok ? ok({ coin: p.coin, locked_amount: detailOf(coin.value.locked()) }) : coin;
  },
  errors: { NoSuchCoin: noSuchCoin(true, 500) },
  examples: [
    { title: "What is held", style: "v2", params: { coin: "DOC" } },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
