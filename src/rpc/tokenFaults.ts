import type { EnableTokensError } from "../app/coin/evmParts.ts";
import type { FaultTable } from "./fault.ts";

type Shared = Exclude<EnableTokensError, { readonly kind: "PlatformCoinIsNotActivated" | "PlatformCoinMismatch" | "BadAccountNodes" }>;

/** What can be wrong with tokens that are enabled beside their platform coin. */
export const TOKEN_FAULTS: FaultTable<Shared> = {
  TokenConfigIsNotFound: {
    http: 400,
    when: "The coins file has no such token.",
    text: ({ ticker }) => `Token ${ticker} config is not found`,
    data: ({ ticker }) => ticker,
  },
  UnexpectedTokenProtocol: {
    http: 400,
    when: "The entry of the token has another protocol than `ERC20`.",
    text: ({ ticker, protocol }) => `Unexpected token protocol ${protocol} for ${ticker}`,
    data: ({ ticker, protocol }) => ({ ticker, protocol }),
  },
  TokenIsAlreadyActivated: {
    http: 400,
    when: "The token is enabled already, or named twice.",
    text: ({ ticker }) => `Token ${ticker} is already activated`,
    data: ({ ticker }) => ticker,
  },
  NotSupported: {
    http: 400,
    type: "InvalidConfig",
    when: "An entry of the coins file cannot be used.",
    text: ({ coin, reason }) => `${coin} is not supported by this node: ${reason}`,
    data: ({ coin, reason }) => ({ coin, reason }),
  },
  ChainMismatch: {
    http: 400,
    type: "InvalidConfig",
    when: "What is on the chain is not what the request and the coins file say.",
    text: ({ coin, reason }) => `${coin} cannot be enabled: ${reason}`,
    data: ({ coin, reason }) => ({ coin, reason }),
  },
  DaemonFailed: {
    http: 502,
    type: "Transport",
    when: "No node gave an answer.",
    text: ({ message }) => `Transport error: ${message}`,
    data: ({ message }) => message,
  },
};
