import type { Secret } from "../../core/util/secret.ts";

/** Where a daemon listens and how to log in. */
export type DaemonEndpoint = {
  /** `http:` or `https:`, without credentials. */
  readonly url: URL;
  readonly user: string;
  readonly password: Secret<string>;
};
