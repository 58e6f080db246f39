import { afterEach, expect, test, vi } from "vitest";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { Secret } from "../core/util/secret.ts";
import { Auth, FORGET_AFTER_MS, isLoopback, MAX_ADDRESSES, MAX_WRONG } from "./auth.ts";

const compared = vi.hoisted(() => ({ lengths: [] as number[] }));
vi.mock("node:crypto", async (original) => {
  const real = await original<typeof import("node:crypto")>();
  return {
    ...real,
    timingSafeEqual: (a: Uint8Array, b: Uint8Array) => {
      compared.lengths.push(a.length, b.length);
      return real.timingSafeEqual(a, b);
    },
  };
});
afterEach(() => {
  compared.lengths.length = 0;
});

const IP = "10.0.0.1";
function auth(): { auth: Auth; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { auth: new Auth(new Secret("Right*1"), clock), clock };
}

test("passwords are compared in constant time over digests of one length", () => {
  const { auth: a } = auth();
  for (const guess of ["", "R", "Right*1", "Right*1 and a long tail"]) a.check(guess, IP);
  expect(compared.lengths).toEqual(new Array(8).fill(32));
});

test("the tenth wrong password bans the address, the right one does not reset the count", () => {
  const { auth: a } = auth();
  for (let wrong = 1; wrong <= MAX_WRONG; wrong++) {
    expect(a.isBanned(IP)).toBe(false);
    expect(a.check("wrong", IP)).toEqual({ kind: "wrong", attemptsLeft: MAX_WRONG - wrong });
    expect(a.check("Right*1", IP)).toEqual({ kind: "ok" });
  }
  expect(a.isBanned(IP)).toBe(true);
  expect(a.isBanned("10.0.0.2")).toBe(false);
});

test("a missing password does not count, a ban ends", async () => {
  const { auth: a, clock } = auth();
  for (let i = 0; i < 50; i++) expect(a.check(5, IP)).toEqual({ kind: "not_set" });
  expect(a.isBanned(IP)).toBe(false);
  for (let i = 0; i < MAX_WRONG; i++) a.check("wrong", IP);
  await clock.advance(FORGET_AFTER_MS - 1);
  expect(a.isBanned(IP)).toBe(true);
  await clock.advance(1);
  expect(a.isBanned(IP)).toBe(false);
});

test("one IPv6 customer is one client, the forms of one IPv4 address too", () => {
  const { auth: a } = auth();
  for (let i = 0; i < MAX_WRONG; i++) a.check("wrong", `2001:db8:1:2::${i + 1}`);
  expect(a.isBanned("2001:db8:1:2:ffff::9")).toBe(true);
  expect(a.isBanned("2001:db8:1:3::1")).toBe(false);
  for (let i = 0; i < MAX_WRONG; i++) a.check("wrong", "::ffff:10.0.0.9");
  expect(a.isBanned("10.0.0.9")).toBe(true);
});

test("a flood of addresses does not grow the memory without end", () => {
  const { auth: a } = auth();
  for (let i = 0; i < MAX_WRONG; i++) a.check("wrong", IP);
  for (let i = 0; i < MAX_ADDRESSES - 1; i++) a.check("wrong", `11.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  expect(a.isBanned(IP)).toBe(true);
  a.check("wrong", "12.0.0.1");
  expect(a.isBanned(IP)).toBe(false);
});

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["127.0.0.1.example.org", false],
  ["", false],
])("%s is loopback: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});
