"""Feeds blocks and scripts to Bitcoin Core's validation library and prints its verdicts.

Input (JSON on stdin): {"chains": [{"name": str, "blocks": [hex]}],
                        "scripts": [{"script": hex, "tx": hex, "index": int, "amount": int, "flags": int}]}
Output (JSON on stdout): {"chains": {name: [{"valid": bool, "tip": hash}]}, "scripts": [bool]}
A block is valid when the library did not refuse it, then or when it was connected; `tip` is the best block after it.
"""

import json
import sys
import tempfile

import pbk


def judge_chain(blocks):
    refused = set()

    def checked(user_data, block, state):
        if state.validation_mode != pbk.ValidationMode.VALID:
            refused.add(str(block.block_hash))

    options = pbk.ContextOptions()
    options.set_chainparams(pbk.ChainParameters(pbk.ChainType.REGTEST))
    options.set_validation_interface(pbk.ValidationInterfaceCallbacks(block_checked=checked))
    context = pbk.Context(options)
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        settings = pbk.ChainstateManagerOptions(context, folder + "/data", folder + "/blocks")
        settings.update_block_tree_db_in_memory(True)
        settings.update_chainstate_db_in_memory(True)
        manager = pbk.ChainstateManager(settings)
        manager.import_blocks([])
        for raw in blocks:
            # A block with the same hash may have been refused before, for transactions its hash does not cover.
            refused.clear()
            try:
                block = pbk.Block(bytes.fromhex(raw))
                manager.process_block(block)
                valid = str(block.block_hash) not in refused
            except (pbk.ProcessBlockException, RuntimeError):
                valid = False
            chain = manager.get_active_chain()
            tip = chain.block_tree_entries[chain.height]
            verdicts.append({"valid": valid, "tip": str(tip.block_hash)})
    return verdicts


def judge_script(case):
    script = pbk.ScriptPubkey(bytes.fromhex(case["script"]))
    tx = pbk.Transaction(bytes.fromhex(case["tx"]))
    flags = pbk.ScriptVerificationFlags(case["flags"])
    return bool(script.verify(case["amount"], tx, None, case["index"], flags))


def main():
    pbk.logging_set_options(pbk.LoggingOptions())
    request = json.load(sys.stdin)
    answer = {
        "chains": {c["name"]: judge_chain(c["blocks"]) for c in request["chains"]},
        "scripts": [judge_script(s) for s in request["scripts"]],
    }
    json.dump(answer, sys.stdout)


main()
