import { reasonOf } from "../core/util/reasonOf.ts";
import { StartRefused } from "./runningNode.ts";

/** The operating system's codes in words. What has another one is told as it came. */
const REASONS: { readonly [code: string]: string } = {
  EADDRINUSE: "another program listens there",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user may not listen there",
};

/** The refusal of a start for want of an address to listen on: what it was for, and why, without libp2p's own words around it. */
export function listenRefused(what: string, cause: unknown): StartRefused {
  const message = reasonOf(cause);
  const code = /\blisten (E[A-Z]+)\b/.exec(message)?.[1] ?? "";
  const reason = REASONS[code];
  return new StartRefused(`${what}: ${reason === undefined ? message : `${reason} (${code})`}`, { cause });
}
