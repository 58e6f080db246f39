import type { ElectrumEffect } from "../../src/chain/electrum/electrumFaults.ts";
import type { ServerLine } from "../world/serverLine.ts";
import type { SimServers } from "../world/simServers.ts";
import type { SimWorld } from "../world/simWorld.ts";
import type { Fault, FaultPlan, ServerLie } from "./faults.ts";

/** Coins per 1000 bytes that a lying server names, a thousand times the truth. */
const FALSE_FEE = 0.01;

type ServerFault = Extract<FaultPlan, { readonly server: number }>;

/** Carries out what befalls one Electrum server. @returns how long it lasts, ms; null: it is of another sort, or nothing came of it */
export function onServer(world: SimWorld, fault: Fault): number | null {
  if (!("server" in fault)) return null;
  const servers = world.servers.get(fault.coin);
  if (!servers) return null;
  begin(servers, fault);
  return fault.forMs;
}

function begin(servers: SimServers, fault: ServerFault): void {
  const { server, forMs } = fault;
  switch (fault.kind) {
    case "server_down":
      servers.fault(server, { kind: "refuse" }, forMs);
      break;
    case "server_stalls":
      servers.fault(server, { kind: "stall" }, forMs);
      break;
    case "server_lags":
      servers.fault(server, { kind: "lag", blocks: fault.blocks }, forMs);
      break;
    case "server_lies":
      if (fault.how === "denies") servers.deny(server, forMs);
      else servers.fault(server, lieOf(fault.how, servers.daemon.chain.state.tip.height), forMs);
  }
}

/** From the next block on, where it lies about headers. */
function lieOf(how: Exclude<ServerLie, "denies">, height: number): ElectrumEffect {
  switch (how) {
    case "swallows":
      return { kind: "swallow_broadcast" };
    case "fees":
      return { kind: "false_fee", rate: FALSE_FEE };
    case "mute":
      return { kind: "mute" };
    case "heights":
      return { kind: "false_height", delta: -1 };
    case "branches":
      return { kind: "false_branch" };
    case "headers":
      return { kind: "false_header", fromHeight: height + 1 };
  }
}

/** What befalls a node's daemon befalls its line to all servers. That all of them lie is beyond every promise: nothing comes of it. */
export function onServerLine(line: ServerLine, fault: Fault, lostReplyMs: number): number | null {
  switch (fault.kind) {
    case "daemon_down":
      line.fault({ kind: "down" }, fault.forMs);
      return fault.forMs;
    case "daemon_stall":
      line.fault({ kind: "stall" }, fault.forMs);
      return fault.forMs;
    case "daemon_slow":
      line.fault({ kind: "slow", delayMs: fault.delayMs }, fault.forMs);
      return fault.forMs;
    case "daemon_refuses":
      line.fault({ kind: "refuse" }, fault.forMs);
      return fault.forMs;
    case "lost_reply":
      line.fault({ kind: "lost_reply" }, lostReplyMs, fault.count);
      return lostReplyMs;
    default:
      return null;
  }
}
