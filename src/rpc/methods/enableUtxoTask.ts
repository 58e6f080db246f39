import { z } from "zod";
import { CANCELLED } from "../../app/taskBook.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import { commonFields, mm2, readServers, SERVERS } from "../activationFields.ts";
import type { EnableError, EnableRequest, WalletCoin } from "../ctx/coins.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod, type Method } from "../define.ts";
import { ENABLE_FAULTS } from "../enableFaults.ts";
import type { FaultTable } from "../fault.ts";
import { type Read, readString, readU32, required, ticker } from "../field.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { MISSING, unknownVariant, wrongType } from "../serdeText.ts";
import { started, TOO_MANY, type TooManyTasks, taskFault, taskMethods } from "../taskMethods.ts";
import { balanceOf, balanceShape } from "../tokenShapes.ts";

type Mode = Pick<EnableRequest, "daemon" | "electrum">;

const optionalU32 = (value: unknown): Result<number | undefined, string> =>
  value === undefined || value === null ? ok(undefined) : readU32(value);

function readElectrum(data: unknown): Result<Mode, string> {
  if (!isJsonObject(data)) return err(data === undefined ? `${MISSING} \`rpc_data\`` : wrongType(data, "struct ElectrumRpcMode"));
  if (data.servers === undefined) return err(`${MISSING} \`servers\``);
  const servers = readServers(data.servers);
  if (!servers.ok) return servers;
  const [least, most] = [optionalU32(data.min_connected), optionalU32(data.max_connected)];
  if (!least.ok) return least;
  if (!most.ok) return most;
  return ok({ daemon: undefined, electrum: { servers: servers.value, minConnected: least.value, maxConnected: most.value } });
}

/** The daemon of this machine, or one that `rpc_data` names, which is ours. */
function readNative(data: unknown): Result<Mode, string> {
  if (data === undefined || data === null) return ok({ daemon: undefined, electrum: undefined });
  if (!isJsonObject(data)) return err(wrongType(data, "struct NativeRpcMode"));
  const [url, user, password] = [data.rpc_url, data.rpc_user ?? "", data.rpc_password ?? ""].map(readString);
  if (!url?.ok || !user?.ok) return err("rpc_url and rpc_user must be texts");
  // The value itself must not appear in an error.
  if (!password?.ok) return err("rpc_password must be a string");
  return ok({ daemon: { url: url.value, user: user.value, password: new Secret(password.value) }, electrum: undefined });
}

const readMode: Read<Mode> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "adjacently tagged enum UtxoRpcMode"));
  if (value.rpc === undefined) return err(`${MISSING} \`rpc\``);
  const rpc = readString(value.rpc);
  if (!rpc.ok) return rpc;
  if (rpc.value === "Electrum") return readElectrum(value.rpc_data);
  return rpc.value === "Native" ? readNative(value.rpc_data) : err(unknownVariant(rpc.value, ["Native", "Electrum"]));
};

const MODE = {
  oneOf: [
    {
      type: "object",
      properties: {
        rpc: { const: "Electrum" },
        rpc_data: {
          type: "object",
          properties: { servers: SERVERS, min_connected: { type: "integer" }, max_connected: { type: "integer" } },
          required: ["servers"],
        },
      },
      required: ["rpc", "rpc_data"],
    },
    {
      type: "object",
      properties: {
        rpc: { const: "Native" },
        rpc_data: {
          type: "object",
          properties: { rpc_url: { type: "string" }, rpc_user: { type: "string" }, rpc_password: { type: "string", format: "password" } },
          required: ["rpc_url"],
        },
      },
      required: ["rpc"],
    },
  ],
};

const result = z.object({
  ticker: z.string(),
  current_block: z.number(),
  wallet_balance: z.object({
    wallet_type: z.literal("Iguana"),
    address: z.string(),
    balance: z.record(z.string(), balanceShape).describe("By ticker."),
  }),
});

const enabled = (coin: WalletCoin): z.input<typeof result> => ({
  ticker: coin.ticker,
  current_block: coin.tipHeight(),
  wallet_balance: { wallet_type: "Iguana", address: coin.address, balance: { [coin.ticker]: balanceOf(coin) } },
});

type Refused =
  | { readonly kind: "CoinIsAlreadyActivated"; readonly ticker: string }
  | { readonly kind: "CoinConfigIsNotFound"; readonly ticker: string }
  | { readonly kind: "CoinProtocolParseError"; readonly ticker: string }
  | { readonly kind: "UnexpectedCoinProtocol"; readonly ticker: string; readonly protocol: string };
type Failed = Refused | { readonly kind: "CoinCreationError"; readonly ticker: string; readonly error: string };

const refusals: FaultTable<Refused> = {
  CoinIsAlreadyActivated: {
    http: 400,
    when: "The coin is enabled, or just being enabled or disabled.",
    text: ({ ticker }) => `Coin ${ticker} is activated already`,
    data: ({ ticker }) => ({ ticker }),
  },
  CoinConfigIsNotFound: {
    http: 400,
    when: "The coins file has no such coin.",
    text: ({ ticker }) => `Coin ${ticker} config is not found`,
    data: ({ ticker }) => ticker,
  },
  CoinProtocolParseError: {
    http: 400,
    when: "The coin's entry has no `protocol`.",
    text: ({ ticker }) => `Coin ${ticker} protocol parsing failed: ${MISSING} \`protocol\``,
    data: ({ ticker }) => ({ ticker, error: `${MISSING} \`protocol\`` }),
  },
  UnexpectedCoinProtocol: {
    http: 400,
    when: "The coin is not one of the UTXO family.",
    text: ({ ticker, protocol }) => `Unexpected coin protocol of ${ticker}: ${protocol}, and UTXO is needed`,
    data: ({ ticker, protocol }) => ({ ticker, protocol: { type: protocol } }),
  },
};
/** What a task ends with. */
const failures: FaultTable<Failed> = {
  ...refusals,
  CoinCreationError: {
    http: 500,
    when: "The servers or the daemon gave no balance, or cannot be used.",
    text: ({ ticker, error }) => `Error on platform coin ${ticker} creation: ${error}`,
    data: ({ ticker, error }) => ({ ticker, error }),
  },
};

function failureOf(ticker: string, error: EnableError): Failed {
  if (error.kind === "AlreadyActive" || error.kind === "BeingEnabled") return { kind: "CoinIsAlreadyActivated", ticker };
  return { kind: "CoinCreationError", ticker, error: taskFault(ENABLE_FAULTS, error).text };
}

/** Protocols of coins whose chain a daemon or Electrum servers show. */
const UTXO_PROTOCOLS = ["UTXO", "QTUM", "BCH"];

function refusalOf(ctx: RpcContext, ticker: string): Refused | null {
  const entry = ctx.coins.entry(ticker);
  if (ctx.coins.active(ticker) || ctx.coins.opening(ticker) !== undefined) return { kind: "CoinIsAlreadyActivated", ticker };
  if (!entry) return { kind: "CoinConfigIsNotFound", ticker };
  const protocol: unknown = JSON.parse(entry.protocol);
  const type = isJsonObject(protocol) ? protocol.type : undefined;
  if (typeof type !== "string" || type === "") return { kind: "CoinProtocolParseError", ticker };
  return UTXO_PROTOCOLS.includes(type) ? null : { kind: "UnexpectedCoinProtocol", ticker, protocol: type };
}

const init = defineMethod<Refused | TooManyTasks>()({
  name: "task::enable_utxo::init",
  style: "v2",
  struct: "InitStandaloneCoinReq",
  summary: "Begin to enable a UTXO coin through Electrum servers or its daemon. `task::enable_utxo::status` tells how far it is.",
  source: "reference rpc.md 5.4; rpc_data of Native is ours",
  params: z.object({
    ticker: ticker(),
    activation_params: z.object(
      { mode: required(readMode, MODE), mm2: mm2(), ...commonFields() },
      { error: ({ input }) => (input === undefined ? MISSING : wrongType(input, "struct UtxoActivationParams")) },
    ),
  }),
  result: started,
  async handle({ ticker, activation_params: p }, ctx): Promise<Result<z.input<typeof started>, Refused | TooManyTasks>> {
    const refused = refusalOf(ctx, ticker);
    if (refused) return err(refused);
    const request: EnableRequest = {
      coin: ticker,
      mm2: p.mm2 !== undefined,
      requiredConfirmations: p.required_confirmations,
      requiresNotarization: p.requires_notarization,
      ...p.mode,
      birthdayHeight: undefined,
      rescan: false,
      txHistory: p.tx_history,
      addressFormat: p.address_format,
      merge: p.utxo_merge_params,
      hdAddress: p.path_to_address,
      nodes: { urls: undefined, swapContract: undefined, fallbackSwapContract: undefined },
    };
    const id = ctx.tasks.enableUtxo.start(ticker, async (signal) => {
      const done = await ctx.coins.enable(request, signal);
      // Cancelled while it was being remembered: who was told so does not expect it to be there.
      if (done.ok && signal.reason === CANCELLED) await ctx.coins.disable(ticker, true);
      return done.ok ? ok(enabled(done.value)) : err(taskFault(failures, failureOf(ticker, done.error)));
    });
    return id === null ? err({ kind: "TooManyTasks" }) : ok({ task_id: id });
  },
  errors: { ...refusals, TooManyTasks: TOO_MANY },
  examples: [
    {
      title: "Through Electrum servers",
      style: "v2",
      params: {
        ticker: "KMD",
        activation_params: { mode: { rpc: "Electrum", rpc_data: { servers: [{ url: "127.0.0.1:10001" }] } }, tx_history: true },
      },
      result: { task_id: 2 },
    },
    {
      title: "Enabled already",
      style: "v2",
      params: { ticker: "DOC", activation_params: { mode: { rpc: "Native" } } },
      error: "CoinIsAlreadyActivated",
    },
  ],
});

const progress = z.union([
  z.enum(["ActivatingCoin", "RequestingWalletBalance"]),
  z.object({ SyncingBlockHeaders: z.object({ current_scanned_block: z.number(), last_block: z.number() }) }),
]);

/** `task::enable_utxo::*` in the order of the documents. */
export const ENABLE_UTXO_TASK: readonly Method[] = [
  init,
  ...taskMethods({
    name: "enable_utxo",
    does: "enables a UTXO coin",
    tasks: (ctx) => ctx.tasks.enableUtxo,
    sends: false,
    progress,
    progressOf(ctx, ticker) {
      const opening = ctx.coins.opening(ticker);
      if (!opening) return "ActivatingCoin";
      const { progress: scan } = opening;
      return scan ? { SyncingBlockHeaders: { current_scanned_block: scan.height, last_block: scan.target } } : "RequestingWalletBalance";
    },
    result,
    exampleResult: {
      ticker: "KMD",
      current_block: 100,
      wallet_balance: {
        wallet_type: "Iguana",
        address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU",
        balance: { KMD: { spendable: "200", unspendable: "0" } },
      },
    },
    exampleProgress: "ActivatingCoin",
  }),
];
