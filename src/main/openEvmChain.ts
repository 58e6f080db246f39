import type { EvmBackend } from "../adapters/evmRpc/evmNode.ts";
import { type EvmRpcOptions, openEvmRpcChain } from "../adapters/evmRpc/evmRpcChain.ts";
import { type BadNodeUrl, type NodeUrl, parseNodeUrl, withoutKeys } from "../adapters/evmRpc/nodeUrl.ts";
import { WsRpc } from "../adapters/evmRpc/wsRpc.ts";
import { createDaemonClient } from "../adapters/jsonRpc/daemonClient.ts";
import type { OpenedAccountChain } from "../app/coin/evmParts.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { DaemonError, DaemonRpc } from "../ports/daemonRpc.ts";
import type { Log } from "../ports/log.ts";
import type { Rng } from "../ports/rng.ts";
import { webSocketOpener } from "../wire/wsSocket.ts";

export type EvmChainDeps = { readonly clock: Clock; readonly rng: Rng; readonly log: Log };

/** Largest answer of a node: 10 000 logs, or the receipt of a transaction that made nothing but logs with all the gas it may use (EIP-7825). */
const MAX_ANSWER_BYTES = 40_000_000;
const PARALLEL = 4;

/** What a node says of a failure gets into logs and statuses. */
function discreet(rpc: DaemonRpc, node: NodeUrl): DaemonRpc {
  const clean = withoutKeys(node);
  const cleaned = (answer: Result<unknown, DaemonError>): Result<unknown, DaemonError> =>
    answer.ok ? answer : err({ ...answer.error, message: clean(answer.error.message) });
  return {
    call: async (...args) => cleaned(await rpc.call(...args)),
    async callBatch(calls, options) {
      if (rpc.callBatch) return (await rpc.callBatch(calls, options)).map(cleaned);
      return Promise.all(calls.map(async ({ method, params }) => cleaned(await rpc.call(method, params, options))));
    },
  };
}

function backendAt(node: NodeUrl, name: string, { clock, rng }: EvmChainDeps): EvmBackend {
  const { url, user, password } = node;
  if (node.transport === "ws") {
    const backend = new WsRpc(name, webSocketOpener(node, rng, MAX_ANSWER_BYTES), clock);
    const onHead = (listener: () => void): (() => void) => backend.onHead(listener);
    return { name, rpc: discreet(backend.rpc, node), onHead, close: () => backend.close() };
  }
  const rpc = createDaemonClient({ url, user, password, what: "node" }, clock, {
    version: "2.0",
    maxAnswerBytes: MAX_ANSWER_BYTES,
    parallel: PARALLEL,
  });
  return { name, rpc: discreet(rpc, node), close: () => rpc.close() };
}

/** One node by its address, and where that is named too, the one for the other transport. */
type Addresses = { readonly first: NodeUrl; other: NodeUrl | null };

/** Named twice, or over HTTP and over WebSocket. */
const isSameNode = ({ url: a }: NodeUrl, { url: b }: NodeUrl): boolean =>
  a.host === b.host && a.pathname === b.pathname && a.search === b.search;

/** Where both are there it is asked over HTTP, and tells of heads over WebSocket. */
function backendOf({ first, other }: Addresses, name: string, deps: EvmChainDeps): EvmBackend {
  const one = backendAt(first, name, deps);
  if (other === null) return one;
  const two = backendAt(other, name, deps);
  const [http, ws] = first.transport === "http" ? [one, two] : [two, one];
  const close = (): void => {
    one.close();
    two.close();
  };
  return { ...ws, rpc: http.rpc, close };
}

type BadUrl = BadNodeUrl & { readonly index: number };

function backendsOf(urls: readonly string[], deps: EvmChainDeps): Result<readonly EvmBackend[], BadUrl> {
  const names = new Map<string, number>();
  const nodes: Addresses[] = [];
  for (const [index, text] of urls.entries()) {
    const node = parseNodeUrl(text);
    if (!node.ok) return err({ ...node.error, index });
    // One that is named twice must not have two votes.
    const known = nodes.find(({ first }) => isSameNode(first, node.value));
    if (known === undefined) nodes.push({ first: node.value, other: null });
    else if (known.first.transport !== node.value.transport) known.other = node.value;
  }
  return ok(
    nodes.map((node) => {
      // Two accounts with one provider differ in their paths only, which are secret.
      const { name } = node.first;
      const count = (names.get(name) ?? 0) + 1;
      names.set(name, count);
      return backendOf(node, count === 1 ? name : `${name} (${count})`, deps);
    }),
  );
}

/** Follows an account chain over the URLs of an activation request: `http`, `https`, `ws` or `wss`, at least one and at most 32. */
export function openEvmChain(
  chain: { readonly ticker: string; readonly chainId: bigint; readonly urls: readonly string[]; readonly options?: EvmRpcOptions },
  deps: EvmChainDeps,
): Result<OpenedAccountChain, BadUrl> {
  const backends = backendsOf(chain.urls, deps);
  if (!backends.ok) return backends;
  const { ticker, chainId, options = {} } = chain;
  const opened = openEvmRpcChain({ ticker, chainId, backends: backends.value, clock: deps.clock, log: deps.log, options });
  return ok({
    ...opened,
    useNodes(urls) {
      const others = backendsOf(urls, deps);
      if (!others.ok) return others;
      opened.exchangeNodes(others.value);
      return ok(undefined);
    },
  });
}
