// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A token that misbehaves as it is told: its answers, fees, and calls to others in the middle of a transfer. For tests.
contract HostileToken {
    string public constant name = "Hostile";
    string public constant symbol = "HOSTILE";
    uint8 public constant decimals = 18;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    /// What both transfers answer, byte for byte; empty: nothing.
    bytes public answer = abi.encode(true);
    /// Kept from what the receiver gets.
    uint256 public fee;
    /// Taken from the sender on top of the amount.
    uint256 public extra;
    /// False: nothing moves, whatever is answered.
    bool public moves = true;
    /// True: transfers fail, with the answer as their reason.
    bool public fails;
    /// Called once in the middle of the next transfer, before the balances change (false) or after (true).
    address public hook;
    bytes public hookData;
    bool public hookAfter;
    /// While it lasts, transfers are fair.
    bool private inHook;
    /// What became of that call.
    bool public hookCalled;
    bool public hookSucceeded;
    bytes public hookAnswer;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function setAnswer(bytes calldata answer_) external {
        answer = answer_;
    }

    function setMoves(bool moves_) external {
        moves = moves_;
    }

    function setFails(bool fails_) external {
        fails = fails_;
    }

    function setFee(uint256 fee_, uint256 extra_) external {
        fee = fee_;
        extra = extra_;
    }

    function setHook(address hook_, bytes calldata data, bool isAfter) external {
        hook = hook_;
        hookData = data;
        hookAfter = isAfter;
        hookCalled = false;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external {
        move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external {
        allowance[from][msg.sender] -= amount;
        move(from, to, amount);
    }

    function move(address from, address to, uint256 amount) private {
        if (!hookAfter) callHook();
        if (inHook) moveBalance(from, to, amount, amount);
        else if (moves) moveBalance(from, to, amount + extra, amount - fee);
        if (hookAfter) callHook();
        bytes memory data = answer;
        bool failing = fails;
        assembly {
            if failing { revert(add(data, 0x20), mload(data)) }
            return(add(data, 0x20), mload(data))
        }
    }

    function moveBalance(address from, address to, uint256 taken, uint256 given) private {
        balanceOf[from] -= taken;
        balanceOf[to] += given;
        emit Transfer(from, to, given);
    }

    function callHook() private {
        if (hook == address(0) || hookCalled) return;
        hookCalled = true;
        inHook = true;
        (hookSucceeded, hookAnswer) = hook.call(hookData);
        inHook = false;
    }
}
