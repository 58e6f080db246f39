import type { Secret } from "../../core/util/secret.ts";

/** Where a daemon listens and how to log in. */
export type DaemonEndpoint = {
  /** `http:` or `https:`, without credentials. */
  readonly url: URL;
  /** Empty: no login is sent. */
  readonly user: string;
  readonly password: Secret<string>;
  /** For sentences about it: a coin daemon (default), or a node of an account chain, which its caller names himself. */
  readonly what?: "daemon" | "node";
};
