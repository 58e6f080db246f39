import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { ticker } from "../field.ts";

const server = z.object({
  url: z.string().describe("Host and port."),
  state: z
    .enum(["idle", "connecting", "connected", "lagging", "away", "dropped"])
    .describe(
      "`away`: not reached, tried again. `dropped`: what it said is disproven, or it serves another chain; left alone for an hour, a node of another chain for two minutes. `lagging`: a node of an account chain that is behind the others; what it says does not count.",
    ),
  height: z.number().nullable().describe("Of the last block it told of."),
  latency_ms: z.number().nullable(),
  contradictions: z.number().describe("How often it was found to say what is not so."),
  calls: z.number().describe("What it was asked since the coin was enabled."),
  trouble: z.string().nullable().describe("The last thing wrong with it."),
});

export const electrumServers = defineMethod<NoSuchCoin>()({
  name: "electrum_servers",
  style: "v2",
  struct: "ElectrumServersRequest",
  summary:
    "How the Electrum servers of an enabled coin, or the nodes of its account chain, are doing. The list is empty for a coin that is followed through a daemon.",
  source: "ours",
  params: z.object({ coin: ticker() }),
  result: z.object({
    coin: z.string(),
    servers: z.array(server).describe("In the order they were given."),
    min_connected: z
      .number()
      .nullable()
      .describe(
        "With fewer connected the coin counts as unreachable; of nodes more than half of those given, which must agree. Null without servers.",
      ),
    warning: z.string().nullable().describe("Why what the servers say rests on one of them alone; null where it does not."),
  }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const servers = coin.value.servers().map(({ name, latencyMs, ...health }) => ({
      url: name,
      ...health,
      latency_ms: latencyMs === null ? null : Math.round(latencyMs),
    }));
    const needs = coin.value.serverNeeds();
    return ok({ coin: p.coin, servers, min_connected: needs?.minConnected ?? null, warning: needs?.warning ?? null });
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    { title: "One of two has lied", style: "v2", params: { coin: "DOC" } },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
