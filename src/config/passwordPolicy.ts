/**
 * KDF's rules for `rpc_password` and `wallet_password`, with its texts, in its order (reference rpc.md 2.3).
 * Null when the password passes.
 */
export function passwordProblem(password: string): string | null {
  if (password.toLowerCase().includes("password")) return "Password can't contain the word password";
  if ([...password].length < 8) return "Password length should be at least 8 characters long";
  if (!/[0-9]/.test(password)) return "Password should contain at least 1 digit";
  if (!/[a-z]/.test(password)) return "Password should contain at least 1 lowercase character";
  if (!/[A-Z]/.test(password)) return "Password should contain at least 1 uppercase character";
  if (!/[^A-Za-z0-9]/.test(password)) return "Password should contain at least 1 special character";
  if (/(.)\1\1/su.test(password)) return "Password can't contain the same character 3 times in a row";
  return null;
}

/**
 * The whole check of `rpc_password` as it stands in the configuration.
 *
 * @param allowWeak `allow_weak_password` is literally true: the policy is skipped, emptiness is not
 */
export function rpcPasswordProblem(value: unknown, allowWeak: boolean): string | null {
  if (value === undefined || value === null) return "rpc_password must be set: it is what every RPC request carries as userpass";
  if (typeof value !== "string") return "rpc_password must be string";
  if (value === "") return "rpc_password must not be empty";
  const problem = allowWeak ? null : passwordProblem(value);
  return problem === null ? null : `rpc_password: ${problem}`;
}
