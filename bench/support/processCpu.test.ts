import { expect, test } from "vitest";
import { statToCpuSeconds } from "./processCpu.ts";

test("user and system time are read behind a process name that looks like fields", () => {
  // proc_pid_stat(5): utime is field 14, stime field 15.
  const behindName = ["S", ...Array.from({ length: 10 }, () => "9"), "250", "125", "7", "7"];
  expect(statToCpuSeconds(`42 (a) b (c d) ${behindName.join(" ")}`)).toBe(3.75);
});
