// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title An account that is a contract: it calls what it is told, and takes native coins as it is told. For tests.
contract Puppet {
    enum Manner {
        Accept,
        Refuse,
        UseUpGas,
        CallBack,
        AnswerAtLength
    }

    Manner public manner;
    address public target;
    bytes public data;
    bool public calledBack;
    bool public callBackSucceeded;

    /// How it takes native coins from now on; `target_` and `data_` are for {Manner.CallBack}.
    function behave(Manner manner_, address target_, bytes calldata data_) external {
        manner = manner_;
        target = target_;
        data = data_;
        calledBack = false;
        callBackSucceeded = false;
    }

    /// Calls in its own name, with coins of its own or those that come along, and fails as that call fails.
    function act(address to, uint256 value, bytes calldata data_) external payable returns (bytes memory answer) {
        bool done;
        (done, answer) = to.call{value: value}(data_);
        if (!done) {
            assembly {
                revert(add(answer, 0x20), mload(answer))
            }
        }
    }

    receive() external payable {
        if (manner == Manner.Refuse) revert("refused");
        if (manner == Manner.UseUpGas) while (true) {}
        if (manner == Manner.CallBack && !calledBack) {
            calledBack = true;
            (callBackSucceeded,) = target.call(data);
        }
        if (manner == Manner.AnswerAtLength) {
            assembly {
                return(0, 300000)
            }
        }
    }
}
