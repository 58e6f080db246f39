import { z } from "zod";
import type { EnableTokensError } from "../../app/coin/evmParts.ts";
import { toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { EnableError, WalletCoin } from "../ctx/coins.ts";
import { defineMethod } from "../define.ts";
import {
  defaulted,
  flag,
  optional,
  optionalCount,
  optionalFlag,
  optionalText,
  type Read,
  readList,
  readString,
  readU64,
  required,
  ticker,
} from "../field.ts";
import { gasPolicySchema, readGasPolicy } from "../gasPolicyField.ts";
import { isJsonObject } from "../jsonNumber.ts";
import { found, MISSING, wrongType } from "../serdeText.ts";
import { TOKEN_FAULTS } from "../tokenFaults.ts";
import { balanceOf, balanceShape } from "../tokenShapes.ts";

const derivation = z.object({ type: z.literal("Iguana") });
const result = z.object({
  current_block: z.number(),
  eth_addresses_infos: z.record(
    z.string(),
    z.object({ derivation_method: derivation, pubkey: z.string(), balances: balanceShape.optional() }),
  ),
  erc20_addresses_infos: z
    .record(
      z.string(),
      z.object({
        derivation_method: derivation,
        pubkey: z.string(),
        balances: z.record(z.string(), balanceShape).optional().describe("By ticker."),
        tickers: z.array(z.string()).optional().describe("In place of `balances`, where those are not asked for."),
      }),
    )
    .describe("The tokens enabled with this call."),
  nfts_infos: z.object({}),
});

const readNode: Read<string> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "struct EthNode"));
  return value.url === undefined ? err(`${MISSING} \`url\``) : readString(value.url);
};

type Token = { readonly ticker: string; readonly requiredConfirmations: number | undefined };
const readToken: Read<Token> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "struct TokenActivationRequest"));
  if (value.ticker === undefined) return err(`${MISSING} \`ticker\``);
  const ticker = readString(value.ticker);
  if (!ticker.ok) return ticker;
  const given = value.required_confirmations ?? undefined;
  const confirmations = given === undefined ? ok(undefined) : readU64(given);
  return confirmations.ok ? ok({ ticker: ticker.value, requiredConfirmations: confirmations.value }) : confirmations;
};
const readPresence: Read<string> = (value) => ok(found(value));

type Platform =
  | { readonly kind: "PlatformIsAlreadyActivated"; readonly coin: string }
  | { readonly kind: "PlatformConfigIsNotFound"; readonly coin: string }
  | { readonly kind: "UnexpectedPlatformProtocol"; readonly coin: string };
type Failure =
  | Platform
  | Extract<EnableError, { readonly kind: "BadAccountNodes" }>
  | Exclude<EnableTokensError, { readonly kind: "PlatformCoinIsNotActivated" }>;

/** The refusals of `enable` that a platform coin can meet, under the names of this method. */
function platformFailure(error: EnableError): Failure {
  switch (error.kind) {
    case "AlreadyActive":
    case "BeingEnabled":
    case "BeingDisabled":
      return { kind: "PlatformIsAlreadyActivated", coin: error.coin };
    case "Mm2NotSet":
    case "ProtocolMissing":
      return { kind: "PlatformConfigIsNotFound", coin: error.coin };
    case "DaemonConfig":
    case "BadDaemonUrl":
    case "BadServers":
      throw new Error(`${error.kind} of a coin without a daemon`);
    default:
      return error;
  }
}

function protocolType(text: string): unknown {
  const protocol: unknown = JSON.parse(text);
  return isJsonObject(protocol) ? protocol.type : undefined;
}

/** Everything enabled by the call, with or without balances. */
function reply(platform: WalletCoin, tokens: readonly WalletCoin[], withBalances: boolean): z.input<typeof result> {
  const info = platform.accountInfo();
  if (!info) throw new Error("a platform coin without an account");
  const common = { derivation_method: { type: "Iguana" as const }, pubkey: toHex(info.publicKey) };
  const balances = Object.fromEntries(tokens.map((token) => [token.ticker, balanceOf(token)]));
  return {
    current_block: platform.tipHeight(),
    eth_addresses_infos: { [platform.address]: { ...common, ...(withBalances ? { balances: balanceOf(platform) } : {}) } },
    erc20_addresses_infos: {
      [platform.address]: { ...common, ...(withBalances ? { balances } : { tickers: tokens.map((token) => token.ticker) }) },
    },
    nfts_infos: {},
  };
}

export const enableEthWithTokens = defineMethod<Failure>()({
  name: "enable_eth_with_tokens",
  style: "v2",
  struct: "EthWithTokensActivationRequest",
  summary: "Enable an ETH-like coin and any number of its ERC-20 tokens at once, all of them or none.",
  source: "reference rpc.md 5.4",
  params: z.object({
    ticker: ticker().describe("The platform coin."),
    mm2: optional(readPresence, { type: "integer" }).describe("Stands in for `mm2` of the coins file."),
    nodes: required(readList(readNode), {
      type: "array",
      items: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    }).describe("`http(s)` or `ws(s)` addresses of nodes, up to 32."),
    swap_contract_address: optionalText().describe("The contract swaps go through. Needed unless the coin is `wallet_only`."),
    fallback_swap_contract: optionalText().describe("One that others may still use."),
    swap_gas_fee_policy: optional(readGasPolicy, gasPolicySchema).describe(
      "How swaps bid for gas, of the tokens, too. Default: the coins file, else `Legacy`.",
    ),
    erc20_tokens_requests: defaulted<readonly Token[]>(readList(readToken), [], {
      type: "array",
      items: {
        type: "object",
        properties: { ticker: { type: "string" }, required_confirmations: { type: "integer", minimum: 0 } },
        required: ["ticker"],
      },
    }).describe("Tokens of this platform coin."),
    required_confirmations: optionalCount().describe("Of the platform coin. Default: the coins file, else 1."),
    requires_notarization: optionalFlag(),
    get_balances: flag(true).describe("False: the reply lists tickers instead."),
  }),
  result,
  async handle(p, ctx, { signal }): Promise<Result<z.input<typeof result>, Failure>> {
    const { ticker } = p;
    const entry = ctx.coins.entry(ticker);
    if (!entry) return err({ kind: "PlatformConfigIsNotFound", coin: ticker });
    if (protocolType(entry.protocol) !== "ETH") return err({ kind: "UnexpectedPlatformProtocol", coin: ticker });
    const done = await ctx.coins.enableWithTokens(
      {
        coin: ticker,
        mm2: p.mm2 !== undefined,
        requiredConfirmations: p.required_confirmations,
        requiresNotarization: p.requires_notarization,
        daemon: undefined,
        electrum: undefined,
        txHistory: false,
        addressFormat: undefined,
        birthdayHeight: undefined,
        rescan: false,
        nodes: {
          urls: p.nodes,
          swapContract: p.swap_contract_address,
          fallbackSwapContract: p.fallback_swap_contract,
          gasPolicy: p.swap_gas_fee_policy,
        },
      },
      p.erc20_tokens_requests,
      signal,
    );
    if (done.ok) return ok(reply(done.value.platform, done.value.tokens, p.get_balances));
    if (done.error.of === "platform") return err(platformFailure(done.error.error));
    const { error } = done.error;
    if (error.kind !== "PlatformCoinIsNotActivated") return err(error);
    return err({ kind: "DaemonFailed", coin: ticker, message: `${ticker} was disabled while its tokens were being enabled` });
  },
  errors: {
    ...TOKEN_FAULTS,
    PlatformIsAlreadyActivated: {
      http: 400,
      when: "The platform coin is enabled, or just being enabled or disabled. `enable_erc20` adds tokens to it.",
      text: ({ coin }) => `Platform coin ${coin} is already activated`,
      data: ({ coin }) => coin,
    },
    PlatformConfigIsNotFound: {
      http: 400,
      when: "The coins file has no such coin, or neither it nor the request has `mm2`.",
      text: ({ coin }) => `Platform ${coin} config is not found`,
      data: ({ coin }) => coin,
    },
    UnexpectedPlatformProtocol: {
      http: 400,
      when: "The coin's entry has another protocol than `ETH`.",
      text: ({ coin }) => `Unexpected platform protocol for ${coin}: ETH is needed`,
      data: ({ coin }) => coin,
    },
    PlatformCoinMismatch: {
      http: 400,
      when: "A token belongs to another platform coin.",
      text: ({ ticker, platform }) => `Token ${ticker} is not a token of the platform coin ${platform}`,
      data: ({ ticker, platform }) => ({ token_ticker: ticker, platform_coin_ticker: platform }),
    },
    BadAccountNodes: {
      http: 400,
      type: "InvalidPayload",
      when: "`nodes` or a contract address is missing or wrong.",
      text: ({ reason }) => reason,
      data: ({ reason }) => reason,
    },
  },
  examples: [
    {
      title: "A platform coin and one token",
      style: "v2",
      params: {
        ticker: "POL",
        nodes: [{ url: "http://127.0.0.1:8545" }],
        swap_contract_address: "0x9130b257D37A52E52F21054c4DA3450c72f595CE",
        erc20_tokens_requests: [{ ticker: "USDT-PLG20" }],
      },
    },
    {
      title: "Not in the coins file",
      style: "v2",
      params: {
        ticker: "NOSUCH",
        nodes: [{ url: "http://127.0.0.1:8545" }],
        swap_contract_address: "0x24ABE4c71FC658C91313b6552cd40cD808b3Ea80",
        erc20_tokens_requests: [{ ticker: "USDT-ERC20" }],
      },
      error: "PlatformConfigIsNotFound",
    },
  ],
});
