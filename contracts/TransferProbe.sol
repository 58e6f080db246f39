// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Never deployed. In an `eth_call` its code stands in for that of an account and of a swap contract: so both really move a token,
/// there and back, and see what that did to their balances.
contract TransferProbe {
    /// Answered first: only this code knows it, a node that ignores the replaced code cannot answer by accident.
    bytes32 private constant MARK = keccak256("swapnode transfer probe");

    error TransferFailed();
    error NoBalance();

    /// Moves `amount` from here to `to` and what arrived from there back. Told: what left and arrived on the way there, and on the way back.
    function roundTrip(address token, address to, uint256 amount)
        external
        returns (bytes32 mark, uint256 left, uint256 arrived, uint256 leftBack, uint256 arrivedBack)
    {
        (left, arrived) = move(token, to, amount);
        (leftBack, arrivedBack) = TransferProbe(to).move(token, address(this), arrived < amount ? arrived : amount);
        mark = MARK;
    }

    /// Moves `amount` from here to `to`. Told: what left here, and what arrived there.
    function move(address token, address to, uint256 amount) public returns (uint256 left, uint256 arrived) {
        uint256 own = balanceOf(token, address(this));
        uint256 theirs = balanceOf(token, to);
        (bool done, bytes memory answer) = token.call(abi.encodeWithSelector(0xa9059cbb, to, amount));
        if (!done || (answer.length != 0 && (answer.length < 32 || abi.decode(answer, (uint256)) != 1))) revert TransferFailed();
        unchecked {
            left = own - balanceOf(token, address(this));
            arrived = balanceOf(token, to) - theirs;
        }
    }

    function balanceOf(address token, address owner) private view returns (uint256) {
        (bool done, bytes memory answer) = token.staticcall(abi.encodeWithSelector(0x70a08231, owner));
        if (!done || answer.length < 32) revert NoBalance();
        return abi.decode(answer, (uint256));
    }
}
