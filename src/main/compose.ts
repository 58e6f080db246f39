import { openHttpServer } from "../adapters/httpServer/openHttpServer.ts";
import { createAccountTxStore } from "../adapters/sqlite/accountTxStore.ts";
import { createActivationStore } from "../adapters/sqlite/activationStore.ts";
import { copiedSwapStore } from "../adapters/sqlite/copies/copiedSwapStore.ts";
import { createOrderStore } from "../adapters/sqlite/orderStore.ts";
import { createPeerStore } from "../adapters/sqlite/peerStore.ts";
import { createSwapStore } from "../adapters/sqlite/swapStore.ts";
import { createSwapViews } from "../adapters/sqlite/swapViews.ts";
import { createNativeVerifier } from "../adapters/system/nativeVerifier.ts";
import { createThreadedVerifier } from "../adapters/system/verifierThreads.ts";
import { ActivationSeal } from "../app/coin/activationSeal.ts";
import { LastCoins } from "../app/coin/lastCoins.ts";
import { Node } from "../app/node.ts";
import { activationKey } from "../core/keys/activationKey.ts";
import { ShownSwap } from "../core/swap/shownSwap.ts";
import { statusMaker, swapStatus } from "../core/swap/swapStatus.ts";
import { Auth } from "../rpc/auth.ts";
import { countedHandler } from "../rpc/countedHandler.ts";
import { Dispatcher } from "../rpc/dispatch.ts";
import { createRpcHandler } from "../rpc/rpcHandler.ts";
import { methodTable } from "../rpc/table.ts";
import { createChainOpener } from "./chainOpener.ts";
import { keepViews } from "./keepViews.ts";
import { listenRefused } from "./listenRefused.ts";
import { nodeMetrics } from "./nodeMetrics.ts";
import { noAccount, openAccount } from "./openAccount.ts";
import { openMetrics } from "./openMetrics.ts";
import { openNetwork } from "./openNetwork.ts";
import { closeSwapCopies, openSwapCopies } from "./openSwapCopies.ts";
import { refillViews } from "./refillViews.ts";
import { createRpcContext } from "./rpcContext.ts";
import type { NodeOptions, RunningNode } from "./runningNode.ts";
import { packageVersion } from "./version.ts";

export type { NodeOptions, RunningNode } from "./runningNode.ts";

/** A call that has no answer by then gets a time-out reply; what it started goes on. */
const RPC_DEADLINE_MS = 60_000;

/**
 * Builds the node from its adapters, starts them in order, and undoes a half-finished start. The only place that
 * knows every part. Rejects with `StartRefused` for reasons the operator can mend.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { config, clock, rng, log } = options;
  const version = `swapnode-${packageVersion()}`;
  const closers: (() => void | Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (let close = closers.pop(); close; close = closers.pop()) await close();
  };
  try {
    const { passphrase } = options;
    const account = passphrase ? await openAccount(passphrase, config.enableHd, config.dbdir, log) : noAccount(rng);
    closers.push(() => account.close());
    const { keys, db, files } = account;
    const network = openNetwork(config, keys.node, { clock, rng, log }, version);
    const verifier = createThreadedVerifier(createNativeVerifier(log), { clock, log });
    closers.push(() => verifier.close());
    const swapLog = createSwapStore(db);
    const copies =
      config.swapCopies === null || account.walletId === null
        ? null
        : await openSwapCopies(
            { folder: config.swapCopies, walletId: account.walletId, dbdir: config.dbdir },
            { db, store: swapLog, clock, log },
          );
    if (copies) closers.push(() => closeSwapCopies(copies));
    const swapStore = copies ? copiedSwapStore(swapLog, copies) : swapLog;
    const swapViews = createSwapViews(db, statusMaker(version));
    const viewKeeper = keepViews(swapViews, { clock, log });
    closers.push(() => viewKeeper.close());
    const node = new Node({
      clock,
      rng,
      log,
      p2p: network.p2p,
      verifier,
      orderStore: createOrderStore(db),
      peerStore: createPeerStore(db),
      swapStore,
      ...(files.orders ? { orderFiles: files.orders } : {}),
      onSwapEvent: files.onSwapEvent,
      onSwapSettled: (uuid, events) => viewKeeper.keep([{ uuid, events: events.length, status: ShownSwap.of(swapStatus(events)) }]),
      key: keys.node,
      ...(keys.hdKeyOf ? { hdKeyOf: keys.hdKeyOf } : {}),
      entries: config.coins,
      openChain: createChainOpener({ clock, rng, log, db }),
      evm: {
        store: createAccountTxStore(db),
        unlimitedAllowances: config.unlimitedAllowances,
        // All of it is loaded for the first coin that needs it.
        load: () => import("../app/coin/evm/evmCoins.ts"),
        openChain: async ({ logsBlockRange, ...chain }) =>
          (await import("./openEvmChain.ts")).openEvmChain(
            { ...chain, ...(logsBlockRange === null ? {} : { options: { logsBlockRange } }) },
            { clock, rng, log },
          ),
      },
      profile: config.profile,
      makerOrderTimeoutMs: config.makerOrderTimeoutSec * 1_000,
      gui: config.gui,
      version,
    });
    await node.open();
    closers.push(refillViews({ views: swapViews, store: swapStore, clock, log }));
    closers.push(() => node.close());

    let begun: () => void = () => undefined;
    const stopping = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let ended: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => {
      ended = resolve;
    });
    let ending: Promise<void> | null = null;
    const stop = (): Promise<void> => {
      begun();
      ending ??= stopAll().finally(() => ended());
      return ending;
    };
    const measured = nodeMetrics(node, network.p2p, () => rpc.counts());
    const seal = new ActivationSeal(activationKey(keys.node.secret), rng);
    const kept = { coins: node.coins, store: createActivationStore(db), seal, clock, log };
    const lastCoins = config.autostartCoins ? new LastCoins(kept) : null;
    closers.push(async () => lastCoins?.close());
    const ctx = createRpcContext({
      clock,
      log,
      compatibility: config.compatibility,
      node,
      swapStore,
      swapViews,
      keepStatuses: viewKeeper.keep,
      version,
      startedAt: new Date(clock.nowMs()).toISOString(),
      netid: config.netid,
      publicKey: account.publicKey,
      hd: keys.hdKeyOf !== undefined,
      p2p: network.online ? network.p2p : null,
      metrics: measured,
      lastCoins,
      stop: () => void stop().catch((cause: unknown) => log.error("stop_failed", { error: cause })),
    });
    closers.push(async () => {
      ctx.tasks.enableUtxo.close();
      ctx.tasks.withdraw.close();
    });
    const dispatcher = new Dispatcher({
      ctx,
      table: methodTable(account.methods),
      auth: new Auth(config.rpcPassword, clock),
      clock,
      log,
      localOnly: config.rpc.localOnly,
      deadlineMs: RPC_DEADLINE_MS,
    });
    const rpc = countedHandler(createRpcHandler(dispatcher));
    closers.push(await openMetrics(measured, config, { clock, log }));
    const { tls, cors } = config.rpc;
    const server = await openHttpServer(
      rpc.handler,
      {
        ip: config.rpc.ip,
        port: config.rpc.port,
        ...(cors === null ? {} : { corsOrigin: cors }),
        altNames: config.rpc.altNames,
        ...(tls ? { tls: { certFile: tls.certPath, keyFile: tls.keyPath } } : {}),
      },
      { log, clock },
    ).catch((cause: unknown) => {
      throw listenRefused(`the RPC cannot start on ${config.rpc.ip}:${config.rpc.port} (rpcip, rpcport)`, cause);
    });
    closers.push(() => server.close());
    await lastCoins?.start();
    // The RPC answers first; peers are looked for while a client may already ask.
    await network.start();
    closers.push(() => network.stop());
    return { rpcUrl: server.url, stop, stopping, stopped };
  } catch (cause) {
    await stopAll();
    throw cause;
  }
}
