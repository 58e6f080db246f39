import { hash, timingSafeEqual } from "node:crypto";
import { dropOldest } from "../core/util/dropOldest.ts";
import type { Secret } from "../core/util/secret.ts";
import type { Clock } from "../ports/clock.ts";

/** Wrong passwords allowed per client address (reference rpc.md 1.6). */
export const MAX_WRONG = 10;
/**
 * How long wrong passwords are remembered after the last one. KDF bans until restart; ours ends, because every local
 * program shares the loopback address and one of them could lock the owner out for good.
 */
export const FORGET_AFTER_MS = 10 * 60_000;
/** Addresses remembered at once; the one wrong longest ago makes room. */
export const MAX_ADDRESSES = 10_000;

export type AuthVerdict =
  | { readonly kind: "ok" }
  | { readonly kind: "not_set" }
  | { readonly kind: "wrong"; readonly attemptsLeft: number };

/** Checks the RPC password in constant time and counts the wrong ones per client address. */
export class Auth {
  readonly #digest: Buffer;
  readonly #clock: Clock;
  readonly #wrong = new Map<string, { count: number; lastMs: number }>();

  constructor(password: Secret<string>, clock: Clock) {
    this.#digest = sha256(password.reveal());
    this.#clock = clock;
  }

  isBanned(address: string): boolean {
    return this.#wrongOf(clientKey(address)) >= MAX_WRONG;
  }

  check(userpass: unknown, address: string): AuthVerdict {
    if (typeof userpass !== "string") return { kind: "not_set" };
    // Digests have one length, so neither the length nor a common prefix of the password shows in the time taken.
    if (timingSafeEqual(sha256(userpass), this.#digest)) return { kind: "ok" };
    const key = clientKey(address);
    const count = this.#wrongOf(key) + 1;
    this.#wrong.delete(key);
    this.#wrong.set(key, { count, lastMs: this.#clock.nowMs() });
    dropOldest(this.#wrong, MAX_ADDRESSES);
    return { kind: "wrong", attemptsLeft: Math.max(0, MAX_WRONG - count) };
  }

  #wrongOf(key: string): number {
    const entry = this.#wrong.get(key);
    if (!entry) return 0;
    if (this.#clock.nowMs() - entry.lastMs < FORGET_AFTER_MS) return entry.count;
    this.#wrong.delete(key);
    return 0;
  }
}

const sha256 = (text: string): Buffer => hash("sha256", text, "buffer");

/** 127.0.0.0/8, ::1 and their mapped form. */
export function isLoopback(address: string): boolean {
  const ip = address.replace(/^::ffff:/i, "");
  return ip === "::1" || /^127(\.\d{1,3}){3}$/.test(ip);
}

/** One client: an IPv4 address, or the /64 of an IPv6 one, because a single customer usually has that many. */
function clientKey(address: string): string {
  const ip = address.replace(/^::ffff:/i, "");
  if (!ip.includes(":") || isLoopback(ip)) return ip;
  const [head = "", tail = ""] = (ip.split("%")[0] ?? ip).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const filled = [...left, ...new Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right];
  return `${filled.slice(0, 4).join(":")}::/64`;
}
