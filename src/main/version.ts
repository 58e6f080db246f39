import { readFileSync } from "node:fs";

/** `version` of package.json, which stands two folders above this file in the checkout and in the package. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest && typeof manifest.version === "string")
    return manifest.version;
  throw new Error("package.json has no version");
}
