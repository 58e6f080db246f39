import { testAccountKills } from "./support/accountKills.ts";

testAccountKills("taker");
