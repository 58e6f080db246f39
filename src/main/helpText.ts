/** What `swapnode --help` prints: at most 80 columns. */
export function helpText(version: string): string {
  return `swapnode ${version}: trade coins with other people, peer to peer, by atomic swaps

Usage:
  swapnode demo [--keep]    two nodes swap coins on two private chains: nothing
                            to set up, no real money, under a minute; --pair
                            UTXO/ERC20 (or ETH): with an account chain
  swapnode start            run a node with the configuration found (see below)
  swapnode start <JSON>     ... with this configuration
  swapnode start -          ... with the configuration on standard input
  swapnode <JSON>           the same as "start <JSON>", as KDF does it
  swapnode wallet create --name NAME [--dbdir DIR]
                            make an encrypted wallet with a new BIP-39 phrase;
                            asks for the password, or reads it from a pipe
  swapnode wallet show --name NAME [--dbdir DIR]
                            print the phrase of a wallet
  swapnode data check [--dbdir DIR | --db FILE]
                            look through the stored swaps and orders for damage
  swapnode data repair [--dbdir DIR | --db FILE]
                            keep a copy of a damaged database, then make a new
                            one of what can be read; prints what was lost
  swapnode data accept [--dbdir DIR | --db FILE]
                            go on with an old copy of the database, or none,
                            after a start refused it
  swapnode import-kdf [--dry-run] [--from DIR] [JSON | -]
                            take over the orders, swaps and history KDF has
                            stored for this wallet; KDF must be stopped. Its
                            files are only read. --dry-run: say what would be
                            taken; --from: KDF's dbdir, if it is another one
  swapnode devnet [--json] [--topology FILE] [--keep-data DIR]
                            a whole private network, left running
  swapnode chain --coin TICKER --coins FILE --port PORT
                            one private chain alone
  swapnode --version, -v    print the version
  swapnode --help, -h       print this

Configuration, first found: the argument; MM_CONF_PATH; MM2.json in this folder;
~/.kdf/MM2.json; standard input. wallet and data use the dbdir of such a file,
else DB in this folder, else ~/.kdf/DB.
The least a node needs in MM2.json (mode 0600):
  { "gui": "me", "netid": 9998, "seednodes": ["127.0.0.1"],
    "rpc_password": "<8 or more: digit, lower, upper, special>",
    "passphrase": "<your words>" }
"wallet_name" and "wallet_password" instead of "passphrase" keep it encrypted.
Without either the node has no keys: it shows the order book and trades nothing.

Environment:
  MM_CONF_PATH    the configuration file
  MM_COINS_PATH   the coins file (else ./coins, else ~/.kdf/coins)
  MM_LOG          append the log to this file; its name must end in .log
  RUST_LOG        least level logged: debug, info (default), warn, error
  MM_CERT_PATH, MM_CERT_KEY_PATH   for "https": true; made when missing

Exit codes: 0 stopped in good order, 1 start refused or crashed, 2 wrong usage;
import-kdf: 3 done, but not everything could be taken over.
Everything else is done over the RPC, http://127.0.0.1:7783 by default:
  curl --url http://127.0.0.1:7783 --data \\
    '{"userpass":"<rpc_password>","method":"version"}'
`;
}
