import { startElectrsNetwork } from "./support/lightNetwork.ts";
import { testSwapsOnServers } from "./support/lightSwaps.ts";

testSwapsOnServers("electrs", startElectrsNetwork);
