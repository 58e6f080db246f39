import { z } from "zod";
import type { EnableTokensError } from "../../app/coin/evmParts.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { AWAITED, withWhy } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { optionalCount, ticker } from "../field.ts";
import { TOKEN_FAULTS } from "../tokenFaults.ts";
import { balanceOf, balanceShape } from "../tokenShapes.ts";

const result = z.object({
  platform_coin: z.string(),
  token_contract_address: z.string(),
  balances: z.record(z.string(), balanceShape).describe("By own address."),
  required_confirmations: z.number(),
});

type NoPlatform = Extract<EnableTokensError, { readonly kind: "PlatformCoinIsNotActivated" }>;
type Failure =
  | Exclude<EnableTokensError, { readonly kind: "PlatformCoinMismatch" | "BadAccountNodes" | "PlatformCoinIsNotActivated" }>
  | (NoPlatform & { readonly why: string | null });

export const enableErc20 = defineMethod<Failure>()({
  name: "enable_erc20",
  style: "v2",
  struct: "EnableTokenRequest",
  summary: "Enable one ERC-20 token beside its enabled platform coin, with that coin's nodes and swap contract.",
  source: "reference rpc.md 5.4",
  params: z.object({
    ticker: ticker().describe("The token."),
    activation_params: z
      .object({ required_confirmations: optionalCount().describe("Default: the coins file, else 1.") })
      .optional()
      .describe("May be left out."),
  }),
  result,
  async handle(p, ctx, { signal }): Promise<Result<z.input<typeof result>, Failure>> {
    const request = { ticker: p.ticker, requiredConfirmations: p.activation_params?.required_confirmations };
    const opened = await ctx.coins.enableTokens(null, [request], signal);
    if (!opened.ok) {
      const { error } = opened;
      if (error.kind === "PlatformCoinMismatch" || error.kind === "BadAccountNodes") throw new Error(`${error.kind} of a token alone`);
      return err(error.kind === "PlatformCoinIsNotActivated" ? { ...error, why: ctx.coins.whyAway(error.platform) } : error);
    }
    const [coin] = opened.value;
    const info = coin?.accountInfo();
    if (!coin || !info) throw new Error("a token without an account");
    return ok({
      platform_coin: info.platform,
      token_contract_address: info.contract ?? "",
      balances: { [coin.address]: balanceOf(coin) },
      required_confirmations: coin.settings.confirmations,
    });
  },
  errors: {
    ...TOKEN_FAULTS,
    PlatformCoinIsNotActivated: {
      http: 400,
      when: `The token's platform coin is not enabled. ${AWAITED}`,
      text: ({ platform, why }) => withWhy(`Platform coin ${platform} is not activated`, why),
      data: ({ platform }) => platform,
    },
  },
  examples: [
    {
      title: "A token of an enabled platform coin",
      style: "v2",
      params: { ticker: "USDT-PLG20" },
      result: {
        platform_coin: "POL",
        token_contract_address: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        balances: { "0xbAB36286672fbdc7B250804bf6D14Be0dF69fa29": { spendable: "200", unspendable: "0" } },
        required_confirmations: 1,
      },
    },
    {
      title: "The platform coin is not enabled",
      style: "v2",
      params: { ticker: "USDT-ERC20", activation_params: { required_confirmations: 3 } },
      error: "PlatformCoinIsNotActivated",
    },
  ],
});
