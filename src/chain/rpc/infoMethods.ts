import { toHex } from "../../core/util/bytes.ts";
import { addressScript, parseAddress } from "../../core/utxo/address.ts";
import { unitsToJson } from "../money.ts";
import type { Args } from "./args.ts";
import { difficulty } from "./blockJson.ts";
import { isKmd, type RpcContext, type RpcMethods } from "./method.ts";
import { RPC_CODE, RpcError } from "./rpcError.ts";

/** The daemons imitated: Core 27 and Komodo 0.8. */
const CORE_VERSION = 270000;
const KMD_VERSION = 3000000;

/** Output script of an address of this coin, or a daemon's refusal. */
export function scriptOfAddress({ chain }: RpcContext, value: unknown): Uint8Array {
  const parsed = typeof value === "string" ? parseAddress(value, chain.params.addresses) : null;
  if (!parsed?.ok) throw new RpcError(RPC_CODE.notFound, "Invalid address");
  return addressScript(parsed.value);
}

function networkInfo(context: RpcContext): object {
  const { params } = context.chain;
  const relay = unitsToJson(params.minRelayFeePerKb);
  return {
    version: isKmd(context) ? KMD_VERSION : CORE_VERSION,
    subversion: isKmd(context) ? "/MagicBean:3.0.0/" : "/Satoshi:27.0.0/",
    protocolversion: isKmd(context) ? 170011 : 70016,
    localservices: "0000000000000409",
    localrelay: true,
    timeoffset: 0,
    networkactive: true,
    connections: 1,
    networks: [],
    relayfee: relay,
    ...(isKmd(context) ? {} : { incrementalfee: relay }),
    localaddresses: [],
    warnings: "",
  };
}

/** Komodo's `getinfo`, with the last notarized block. */
function kmdInfo(context: RpcContext): object {
  const { chain } = context;
  const { tip } = chain.state;
  const height = Math.max(0, tip.height + context.heightLie());
  const noted = chain.notarized;
  const zero = "00".repeat(32);
  return {
    version: KMD_VERSION,
    protocolversion: 170011,
    KMDversion: "0.8.1",
    synced: true,
    notarized: noted?.height ?? 0,
    prevMoMheight: 0,
    notarizedhash: noted?.block.hash ?? zero,
    notarizedtxid: noted?.block.txs[0]?.txid ?? zero,
    notarizedtxid_height: "mempool",
    KMDnotarized_height: 0,
    notarized_confirms: 0,
    blocks: height,
    longestchain: height,
    timeoffset: 0,
    tiptime: tip.block.header.time,
    difficulty: difficulty(tip.block.header.bits),
    connections: 1,
    proxy: "",
    testnet: true,
    relayfee: unitsToJson(chain.params.minRelayFeePerKb),
    errors: "",
    name: chain.params.ticker,
  };
}

function validateAddress(context: RpcContext, args: Args): object {
  const address = args.text(0);
  const parsed = parseAddress(address, context.chain.params.addresses);
  if (!parsed.ok)
    return isKmd(context) ? { isvalid: false } : { isvalid: false, error_locations: [], error: "Invalid or unsupported address" };
  const script = addressScript(parsed.value);
  const { kind, hash } = parsed.value;
  const common = { isvalid: true, address, scriptPubKey: toHex(script) };
  if (isKmd(context)) {
    return { ...common, segid: 0, ismine: false, iswatchonly: context.chain.wallet.isWatched(script), isscript: kind === "p2sh" };
  }
  const isWitness = kind !== "p2pkh" && kind !== "p2sh";
  return {
    ...common,
    isscript: kind === "p2sh" || kind === "p2wsh",
    iswitness: isWitness,
    ...(isWitness ? { witness_version: kind === "p2tr" ? 1 : 0, witness_program: toHex(hash) } : {}),
  };
}

function miningInfo(context: RpcContext): object {
  const { state, mempool } = context.chain;
  const { bits } = state.tip.block.header;
  return {
    blocks: state.tip.height,
    difficulty: difficulty(bits),
    networkhashps: 0,
    pooledtx: mempool.graph.size,
    chain: "regtest",
    warnings: "",
  };
}

export const INFO_METHODS: RpcMethods = {
  getnetworkinfo: { params: [], run: networkInfo },
  getinfo: { params: [], only: "kmd", run: kmdInfo },
  getmininginfo: { params: [], run: miningInfo },
  getconnectioncount: { params: [], run: () => 1 },
  validateaddress: { params: ["address"], required: 1, run: validateAddress },
  uptime: { params: [], only: "core", run: ({ chain }) => Math.max(0, chain.time.nowSec - chain.startedSec) },
  ping: { params: [], run: () => null },
  stop: {
    params: [],
    run: (context) => {
      context.stop();
      return isKmd(context) ? "Komodo server stopping" : "Bitcoin Core stopping";
    },
  },
};
