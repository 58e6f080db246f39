import { runRows } from "./runRows.ts";
import { TOKEN_ROWS } from "./tokens.ts";

runRows("trades of tokens", TOKEN_ROWS);
