import { PORT_SHARE_VARIABLE } from "../../../src/devnet/freePorts.ts";

// Runs before each file of the slow suite: files that run at the same time draw their ports from different shares, and so do the
// processes they start.
process.env[PORT_SHARE_VARIABLE] = `${process.env.VITEST_POOL_ID ?? 1}/2`;
