import { isatty } from "node:tty";
import { setPrivateUmask } from "../adapters/system/dataDir.ts";
import { createLog, type FileSink, type LogSink, openFileSink } from "../adapters/system/jsonLog.ts";
import { keepMemorySmall } from "../adapters/system/memoryKeeper.ts";
import { createStderrSink } from "../adapters/system/stderrSink.ts";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { openWallet, walletErrorText, walletPath } from "../adapters/system/walletFile.ts";
import type { Surroundings } from "../config/configSources.ts";
import { loadConfig } from "../config/load.ts";
import { reasonOf } from "../core/util/reasonOf.ts";
import type { Log } from "../ports/log.ts";
import { type NodeOptions, type RunningNode, StartRefused } from "./runningNode.ts";
import { packageVersion } from "./version.ts";

/** Time a clean stop may take before the process ends anyway; what is stored is safe at every moment. */
const STOP_DEADLINE_MS = 30_000;

/** Ctrl-C may arrive twice, from the terminal and through the launcher: within this time it is one request. */
const SAME_REQUEST_MS = 500;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGQUIT"] as const;

/** Node's own way out waits for its threads, and they for the disk: one that does not answer would keep the process, and its lock on the data folder. */
const endAtOnce = (): void => void process.kill(process.pid, "SIGKILL");

/** A stop, whoever asked for it, that is not over in time ends the process. */
async function limitStop(node: RunningNode, { clock, log }: NodeOptions): Promise<void> {
  await node.stopping;
  clock.after(STOP_DEADLINE_MS, () => {
    log.error("stop_deadline_passed", { after_ms: STOP_DEADLINE_MS });
    endAtOnce();
  });
}

/** Log rotation has given the file of the log another name. */
function reopenLog(file: FileSink | null, log: Log): void {
  try {
    file?.reopen();
    log.info("log_reopened", { file: file !== null });
  } catch (error) {
    log.error("log_not_reopened", { error });
  }
}

/** Stops the node at the first signal; the second one ends the process at once. */
function heedSignals(node: RunningNode, options: NodeOptions, logFile: FileSink | null): void {
  let askedAtMs: number | null = null;
  const onSignal = (signal: string): void => {
    const nowMs = options.clock.nowMs();
    if (askedAtMs !== null) {
      if (nowMs - askedAtMs > SAME_REQUEST_MS) endAtOnce();
      return;
    }
    askedAtMs = nowMs;
    options.log.info("stopping", { signal });
    node.stop().catch((error: unknown) => {
      options.log.error("stop_failed", { error });
      process.exit(1);
    });
  };
  for (const signal of SIGNALS) process.on(signal, () => onSignal(signal));
  // Asked now: a terminal that was closed is none any more.
  const hasTerminal = isatty(0) || isatty(2);
  process.on("SIGHUP", (signal) => (hasTerminal ? onSignal(signal) : reopenLog(logFile, options.log)));
}

/**
 * By itself Node opens its debugger at SIGUSR1, and whoever can reach loopback reads the keys there. Log rotation is often set to send
 * that signal, and means no such thing.
 *
 * @param log where that is told, once there is one
 */
const keepDebuggerShut = (log: () => Log | null): void => void process.on("SIGUSR1", (signal) => log()?.info("signal_ignored", { signal }));

function reportCrashes(log: Log): void {
  process.on("uncaughtException", (error) => {
    log.error("crashed", { error, stack: error.stack });
    process.exit(1);
  });
}

/**
 * `swapnode start`: reads the configuration, opens the wallet, runs the node until it is stopped.
 *
 * @param loadNode imports the node itself; called only when the configuration is good
 * @param complain writes one line for the operator
 * @returns the exit code
 */
export async function startCommand(
  at: Surroundings,
  loadNode: () => Promise<{ readonly startNode: (options: NodeOptions) => Promise<RunningNode> }>,
  complain: (line: string) => void,
): Promise<number> {
  setPrivateUmask();
  let logNow: Log | null = null;
  keepDebuggerShut(() => logNow);
  const loaded = loadConfig(at);
  if (!loaded.ok) {
    complain(loaded.error);
    return 1;
  }
  const { config, warnings } = loaded.value;
  const clock = createSystemClock();
  const rng = createSystemRng();
  const sinks: LogSink[] = config.log.silentConsole ? [] : [createStderrSink()];
  let logFile: FileSink | null = null;
  if (config.log.file !== null) {
    try {
      logFile = openFileSink(config.log.file);
      sinks.push(logFile);
    } catch (error) {
      complain(`MM_LOG: the log file cannot be opened: ${reasonOf(error)}`);
      return 1;
    }
  }
  const log = createLog(clock, config.log.level, sinks);
  logNow = log;
  for (const text of warnings) log.warn("configuration", { text });

  let { passphrase } = config;
  if (config.wallet !== null) {
    const wallet = await openWallet(config.dbdir, config.wallet, config.passphrase, rng);
    if (!wallet.ok) {
      complain(walletErrorText(wallet.error, config.wallet.name));
      return 1;
    }
    passphrase = wallet.value.passphrase;
    if (wallet.value.created) {
      const { name } = config.wallet;
      const hint =
        config.passphrase === null
          ? `there was no wallet of this name: it has new words. Write them down (swapnode wallet show --name ${name} --dbdir ${config.dbdir}), or stop and correct wallet_name`
          : "it holds the passphrase of the configuration, which can be taken out of there now";
      log.warn("wallet_created", { wallet: name, file: walletPath(config.dbdir, name), hint });
    }
  }

  const options: NodeOptions = { config, passphrase, clock, rng, log };
  reportCrashes(log);
  try {
    const { startNode } = await loadNode();
    const node = await startNode(options);
    heedSignals(node, options, logFile);
    void limitStop(node, options);
    log.info("started", {
      version: packageVersion(),
      rpc: node.rpcUrl,
      netid: config.netid,
      profile: config.profile.name,
      dbdir: config.dbdir,
    });
    const stopKeeping = keepMemorySmall(clock, log);
    await node.stopped;
    stopKeeping();
    log.info("stopped");
    return 0;
  } catch (error) {
    if (!(error instanceof StartRefused)) log.error("start_failed", { error, stack: error instanceof Error ? error.stack : undefined });
    // Also where the log is silent: nobody should have to guess why there is no node.
    complain(error instanceof StartRefused ? error.message : `the node stopped: ${reasonOf(error)}`);
    return 1;
  }
}
