import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SenderOrder, SenderReport } from "./trafficSender.ts";

/** A process with relays that hold signed order messages, ready to hand them over. */
export type Traffic = {
  /** Multiaddresses to dial; the first to come gets the messages. */
  readonly relays: readonly string[];
  readonly total: number;
  /** Hands over everything, as fast as it is taken. Resolves when the last message is on its way. */
  go(): Promise<{ readonly cpuSeconds: number }>;
  stop(): void;
};

function nextReport(child: ChildProcess): Promise<SenderReport> {
  return new Promise((resolve, reject) => {
    child.once("message", (report: SenderReport) => resolve(report));
    child.once("exit", (code) => reject(new Error(`the sender ended with ${code}`)));
  });
}

/** Starts the sender and waits until its messages are signed. They are valid for a minute from then on. */
export async function prepareTraffic(order: SenderOrder): Promise<Traffic> {
  const child = fork(fileURLToPath(new URL("./trafficSender.ts", import.meta.url)), { execArgv: [] });
  const listening = nextReport(child);
  child.send(order);
  const report = await listening;
  if (report.kind !== "listening") throw new Error("the sender said something else");
  return {
    relays: report.addresses,
    total: order.peers * order.keys * order.perKey,
    async go() {
      const sent = nextReport(child);
      child.send("go");
      const end = await sent;
      return { cpuSeconds: end.kind === "sent" ? end.cpuSeconds : 0 };
    },
    stop: () => void child.kill("SIGKILL"),
  };
}
