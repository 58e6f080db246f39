// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The one question asked of a token by its interface (ERC-20). Its transfers are called without one: what tokens answer to them differs.
interface ITokenBalance {
    function balanceOf(address account) external view returns (uint256);
}

/// @title Hash time-locked payments in the native coin and in ERC-20 tokens.
/// @notice The payer locks an amount under an id. The receiver takes it with the secret behind a hash, at any time. Until that
/// has happened, the payer takes it back once the lock time is reached. Nobody else can move it anywhere, and nobody owns or
/// can change this contract.
/// @dev The interface is that of the EtomicSwap contract which the Komodo DeFi Framework uses for version 1 swaps: the same
/// selectors, events, ids, states and stored hash. `spendFor` and `refundFor` are additions. docs/adr/0024-swap-contract.md has
/// the reasons for what is decided here.
///
/// Order of every function: checks, then the new state, then the transfer. A failed transfer takes the new state back.
contract SwapnodeSwap {
    /// @dev The names and numbers of the interface; clients compare the numbers.
    enum State {
        Uninitialized,
        PaymentSent,
        ReceivedSpent,
        SenderRefunded
    }

    /// @dev One storage slot. Everything that is not here must be named again by whoever moves the payment.
    struct Payment {
        /// RIPEMD-160 over receiver, sender, secret hash, token and amount, packed (20 + 20 + 20 + 20 + 32 bytes), hashed once.
        bytes20 paymentHash;
        /// From this block timestamp on, in seconds, the payer may take it back.
        uint64 lockTime;
        State state;
    }

    /// The amount is zero.
    error ZeroAmount();
    /// The receiver is the zero address or this contract: nobody could ever be paid there.
    error ReceiverRefused();
    /// The id has been used, whatever became of that payment.
    error IdUsed();
    /// No payment is open under the id: never sent, spent, or refunded.
    error NotOpen();
    /// Sender, receiver, secret or its hash, token or amount are not those of the payment.
    error WrongTerms();
    /// The lock time is not reached.
    error TooEarly();
    /// There is no contract at the token's address, or its transfer failed, answered false, or answered no boolean.
    error TokenRefused();
    /// A payment did not bring exactly the amount (a fee on transfer, or a token that lies), or paying it out took more than that.
    error TokenAmountDiffers();
    /// The account to be paid did not accept the native coin.
    error PayoutRefused();
    /// A token called back while one of its transfers was under way.
    error Reentered();

    /// @notice A payment was locked.
    event PaymentSent(bytes32 id);
    /// @notice The receiver was paid, and this is the secret.
    event ReceiverSpent(bytes32 id, bytes32 secret);
    /// @notice The payer has the money back.
    event SenderRefunded(bytes32 id);

    /// @notice What became of the payment with an id.
    mapping(bytes32 id => Payment) public payments;

    /// 1: no token transfer is under way. 2: one is. Never 0, which would cost more to leave.
    uint256 private tokenLock = 1;

    /// @dev One token transfer at a time. The balance before and after a transfer is only worth something when nothing else moves
    /// tokens in between. The native coin needs no such lock: no balance is measured, and the state is settled before it moves.
    modifier oneTransfer() {
        if (tokenLock != 1) revert Reentered();
        tokenLock = 2;
        _;
        tokenLock = 1;
    }

    /// @notice Locks the native coin that comes with the call.
    /// @param id Identifies the payment; never used before.
    /// @param receiver Who may take it with the secret.
    /// @param secretHash RIPEMD-160 of SHA-256 of the 32-byte secret.
    /// @param lockTime From this block timestamp on the caller may take it back, seconds. May lie in the past.
    function ethPayment(bytes32 id, address receiver, bytes20 secretHash, uint64 lockTime) external payable {
        open(id, receiver, secretHash, address(0), msg.value, lockTime);
    }

    /// @notice Locks tokens of the caller, who has allowed this contract to take them.
    /// @dev Refused when this contract's balance does not grow by exactly the amount. No native coin may come with the call.
    /// @param amount In the token's smallest units.
    /// @param token The token's contract. What it is trusted with: docs/adr/0024-swap-contract.md.
    /// The other parameters as in {ethPayment}.
    function erc20Payment(bytes32 id, uint256 amount, address token, address receiver, bytes20 secretHash, uint64 lockTime)
        external
        oneTransfer
    {
        open(id, receiver, secretHash, token, amount, lockTime);
        uint256 before = ownBalance(token);
        // transferFrom(address,address,uint256)
        callToken(token, abi.encodeWithSelector(0x23b872dd, msg.sender, address(this), amount));
        if (ownBalance(token) != before + amount) revert TokenAmountDiffers();
    }

    /// @notice Pays the caller, who is the receiver of the payment and names its secret. Also after the lock time, as long as
    /// the payer has not taken it back.
    /// @param amount That of the payment, in smallest units.
    /// @param secret The 32 bytes behind the secret hash. Everybody sees them from now on.
    /// @param token That of the payment; the zero address for the native coin.
    /// @param sender Who paid.
    function receiverSpend(bytes32 id, uint256 amount, bytes32 secret, address token, address sender) external {
        spend(id, amount, secret, token, sender, msg.sender);
    }

    /// @notice Pays the caller back, who has sent the payment, once the lock time is reached.
    /// @param secretHash That of the payment. The other parameters as in {receiverSpend}.
    /// @param receiver Who could have taken it.
    function senderRefund(bytes32 id, uint256 amount, bytes20 secretHash, address token, address receiver) external {
        refund(id, amount, secretHash, token, msg.sender, receiver);
    }

    /// @notice {receiverSpend} in the name of the receiver: anybody may call it, and the receiver alone is paid.
    /// @dev Clients of the interface that read the secret from the calldata of `receiverSpend` do not find it here, only in the
    /// event. So never the first to reveal a secret to such a payer.
    function spendFor(bytes32 id, uint256 amount, bytes32 secret, address token, address sender, address receiver) external {
        spend(id, amount, secret, token, sender, receiver);
    }

    /// @notice {senderRefund} in the name of the payer: anybody may call it, and the payer alone gets the money.
    function refundFor(bytes32 id, uint256 amount, bytes20 secretHash, address token, address sender, address receiver) external {
        refund(id, amount, secretHash, token, sender, receiver);
    }

    function open(bytes32 id, address receiver, bytes20 secretHash, address token, uint256 amount, uint64 lockTime) private {
        if (amount == 0) revert ZeroAmount();
        if (receiver == address(0) || receiver == address(this)) revert ReceiverRefused();
        if (payments[id].state != State.Uninitialized) revert IdUsed();
        payments[id] = Payment(hashOf(receiver, msg.sender, secretHash, token, amount), lockTime, State.PaymentSent);
        emit PaymentSent(id);
    }

    function spend(bytes32 id, uint256 amount, bytes32 secret, address token, address sender, address receiver) private {
        bytes20 secretHash = ripemd160(abi.encodePacked(sha256(abi.encodePacked(secret))));
        Payment storage payment = payments[id];
        if (payment.state != State.PaymentSent) revert NotOpen();
        if (payment.paymentHash != hashOf(receiver, sender, secretHash, token, amount)) revert WrongTerms();
        payment.state = State.ReceivedSpent;
        emit ReceiverSpent(id, secret);
        pay(token, receiver, amount);
    }

    function refund(bytes32 id, uint256 amount, bytes20 secretHash, address token, address sender, address receiver) private {
        Payment storage payment = payments[id];
        if (payment.state != State.PaymentSent) revert NotOpen();
        if (payment.paymentHash != hashOf(receiver, sender, secretHash, token, amount)) revert WrongTerms();
        if (block.timestamp < payment.lockTime) revert TooEarly();
        payment.state = State.SenderRefunded;
        emit SenderRefunded(id);
        pay(token, sender, amount);
    }

    function hashOf(address receiver, address sender, bytes20 secretHash, address token, uint256 amount) private pure returns (bytes20) {
        return ripemd160(abi.encodePacked(receiver, sender, secretHash, token, amount));
    }

    /// @dev A payee that refuses stops nothing but its own payment: the call as a whole is undone and the payment stays open.
    function pay(address token, address to, uint256 amount) private {
        if (token == address(0)) payNative(to, amount);
        else payToken(token, to, amount);
    }

    /// @dev All remaining gas goes along, so that contracts and delegated accounts can be paid. Nothing of what they return is
    /// copied: a long answer must not eat the gas of whoever called.
    function payNative(address to, uint256 amount) private {
        bool sent;
        assembly ("memory-safe") {
            sent := call(gas(), to, amount, 0, 0, 0, 0)
        }
        if (!sent) revert PayoutRefused();
    }

    /// @dev A token that would take more from this contract than the amount would take it from other payments.
    function payToken(address token, address to, uint256 amount) private oneTransfer {
        uint256 before = ownBalance(token);
        // transfer(address,uint256)
        callToken(token, abi.encodeWithSelector(0xa9059cbb, to, amount));
        if (ownBalance(token) + amount < before) revert TokenAmountDiffers();
    }

    /// @dev An address without code would answer any call with success and nothing.
    function ownBalance(address token) private view returns (uint256) {
        if (token.code.length == 0) revert TokenRefused();
        return ITokenBalance(token).balanceOf(address(this));
    }

    /// @dev To an address that {ownBalance} has found to be a contract. It may answer nothing, or the word 1; anything else is a
    /// refusal.
    function callToken(address token, bytes memory data) private {
        bool done;
        uint256 size;
        uint256 word;
        assembly ("memory-safe") {
            done := call(gas(), token, 0, add(data, 0x20), mload(data), 0, 0x20)
            size := returndatasize()
            word := mload(0)
        }
        if (!done || (size != 0 && (size < 0x20 || word != 1))) revert TokenRefused();
    }
}
